// Pushes to a row partition of which cuts are read.
#pragma once
#include <optional>
#include <tuple>
#include <vector>

#include "common/base/random.h"
#include "common/store/row_table.h"
#include "gtest/gtest.h"
#include "tests/common/store/cut_push.h"
#include "tests/common/store/store_test_support.h"

namespace weir::store {

using RowBits = std::tuple<uint32_t, uint64_t, std::vector<uint32_t>, std::vector<uint32_t>>;

inline RowBits BitsOf(uint32_t table, uint64_t id, std::span<const float> values,
                      std::span<const float> state) {
  return {table, id, BitsIn(values), BitsIn(state)};
}

inline std::vector<RowBits> BitsOfAll(const RowPartitionStore& store) {
  std::vector<RowBits> rows;
  store.ForEachRow([&](const auto&... row) { rows.push_back(BitsOf(row...)); });
  return rows;
}

class CutHistory {
 public:
  CutHistory(const UpdateRule& rule, size_t dimension, uint64_t seed)
      : layout_(MakeLayout({.bottom_widths = {static_cast<int32_t>(dimension)},
                            .dimension = static_cast<int32_t>(dimension)})),
        rule_(rule),
        dimension_(dimension),
        random_(seed),
        store_(layout_, rule) {}

  void Push(int count) {
    for (; count > 0; --count) {
      pushes_.push_back(RandomPush(random_, dimension_, kIdLimit));
      Take(pushes_.back(), dimension_, pushes_.size(), &store_, &reads_);
    }
  }

  // Reads a cut of now, in sections of any size with pushes between them. settles: as rows are made
  // what they are after the last push.
  void CheckCut(bool settles) {
    const size_t at = pushes_.size();
    reads_.clear();
    const std::vector<RowBits> expected = settles ? SettledBits(at) : BitsOfAll(store_);
    RowPartitionStore restored(layout_, rule_);
    std::vector<RowBits> read;
    store_.BeginCut(settles ? std::optional<uint64_t>(at) : std::nullopt);
    const auto take = [&](uint32_t table, uint64_t id, std::span<const float> values,
                          std::span<const float> state) {
      read.push_back(BitsOf(table, id, values, state));
      restored.Load(table, id, values, state);
    };
    bool has_more = true;
    while (has_more) {
      Push(static_cast<int>(random_.NextBelow(4)));
      has_more = store_.VisitCut(static_cast<uint32_t>(random_.NextBelow(300)), take);
    }
    Push(3);
    store_.EndCut();
    ASSERT_EQ(read, expected);
    ASSERT_EQ(BitsOfAll(restored), expected);
    CheckGoesOn(at, &restored);
  }

 private:
  void CheckGoesOn(size_t at, RowPartitionStore* restored) {
    std::vector<std::vector<uint32_t>> reads;
    for (size_t i = at; i < pushes_.size(); ++i) {
      Take(pushes_[i], dimension_, i + 1, restored, &reads);
    }
    ASSERT_EQ(reads, reads_);
    ASSERT_EQ(BitsOfAll(*restored), BitsOfAll(store_));
  }

  static constexpr uint64_t kIdLimit = 900;

  std::vector<RowBits> SettledBits(uint64_t step) const {
    RowPartitionStore copy(layout_, rule_);
    store_.ForEachRow([&](const auto&... row) { copy.Load(row...); });
    copy.Settle(0, static_cast<uint32_t>(copy.row_count()), step);
    return BitsOfAll(copy);
  }

  const ModelLayout layout_;
  const UpdateRule& rule_;
  const size_t dimension_;
  RandomStream random_;
  RowPartitionStore store_;
  std::vector<CutPush> pushes_;
  std::vector<std::vector<uint32_t>> reads_;  // since the last cut
};

}  // namespace weir::store
