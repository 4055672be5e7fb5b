// Rows of a cut as frames.
#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "common/base/random.h"
#include "common/saved_model/frames.h"
#include "common/store/update_rule.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/store/store_test_support.h"

namespace weir::saved_model {
namespace {

constexpr size_t kRowFloats = 4 + 4;  // of adagrad

class CutFrames : public testing::Test {
 protected:
  // A NaN, an infinity and a zero that is minus are among what rows have.
  void Create(uint64_t row_count) {
    RandomStream random(3);
    for (uint64_t i = 0; i < row_count; ++i) {
      const auto table = static_cast<uint32_t>(random.NextBelow(3));
      std::vector<float> values = store::RandomVector(random, 4);
      if (i == 1) values = {std::numeric_limits<float>::quiet_NaN(), -0.0f, 1e30f * 1e30f, 1};
      store_.Load(table, i * 17 % 1009, values, store::RandomVector(random, 4));
    }
  }

  // Each row by its number: table, id and bits, as the store has them.
  using Numbered = std::map<uint32_t, std::vector<uint64_t>>;
  Numbered RowsOfStore() const {
    Numbered rows;
    uint32_t number = 0;
    store_.ForEachRow([&](uint32_t table, uint64_t id, std::span<const float> values,
                          std::span<const float> state) {
      std::vector<uint64_t>& row = rows[number++];
      row = {table, id};
      for (const float value : values) row.push_back(std::bit_cast<uint32_t>(value));
      for (const float value : state) row.push_back(std::bit_cast<uint32_t>(value));
    });
    return rows;
  }
  Result<Numbered> RowsOf(ByteSpan frames) const {
    Numbered rows;
    WEIR_RETURN_IF_ERROR(VisitFrames(
        frames, layout_,
        {.piece = [](const SavedPiece&) {},
         .rows =
             [&](const SavedRows& saved) {
               for (size_t i = 0; i < saved.ids.size() && saved.row_floats == kRowFloats + 1; ++i) {
                 std::vector<float> floats(saved.row_floats);
                 saved.CopyRow(i, floats);
                 std::vector<uint64_t> row = {saved.table, saved.ids[i]};
                 for (const float value : floats) row.push_back(std::bit_cast<uint32_t>(value));
                 const auto number = static_cast<uint32_t>(row.back());
                 row.pop_back();
                 rows[number] = row;
               }
             }}));
    return rows;
  }

  const ModelLayout layout_ = store::MakeLayout({});
  const std::unique_ptr<const store::UpdateRule> rule_ = store::MakeRule("adagrad", 0.1);
  store::RowPartitionStore store_{layout_, *rule_};
};

TEST_F(CutFrames, HaveRowsBitByBitAndTheOrderOfTheirCreation) {
  Create(1000);
  store_.BeginCut();
  Bytes frames;
  EXPECT_FALSE(AppendNumberedCutRows(&store_, &frames));
  const auto rows = RowsOf(frames);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(*rows, RowsOfStore());
}

TEST_F(CutFrames, AreSectionsOfAMegabyte) {
  for (uint64_t id = 0; id < 100'000; ++id) store_.FindOrCreate(0, id);
  store_.BeginCut();
  Numbered rows;
  bool has_more = true;
  int section_count = 0;
  for (; has_more; ++section_count) {
    Bytes frames;
    has_more = AppendNumberedCutRows(&store_, &frames);
    EXPECT_LT(frames.size(), size_t{9} << 17);
    rows.merge(RowsOf(frames).value());
  }
  EXPECT_EQ(section_count, 4);
  EXPECT_EQ(rows, RowsOfStore());
}

TEST_F(CutFrames, OfAStoreWithoutRowsAreNone) {
  store_.BeginCut();
  Bytes frames;
  EXPECT_FALSE(AppendNumberedCutRows(&store_, &frames));
  EXPECT_TRUE(frames.empty());
}

TEST_F(CutFrames, ThatAreDamagedOrCutShortAreRefused) {
  Create(40);
  store_.BeginCut();
  Bytes frames;
  AppendNumberedCutRows(&store_, &frames);
  const auto whole = RowsOf(frames).value();
  for (size_t size = 1; size < frames.size(); ++size) {
    const auto rows = RowsOf(ByteSpan(frames).first(size));
    if (rows.ok()) {  // between two frames: who reads them counts
      EXPECT_LT(rows->size(), whole.size());
    } else {
      EXPECT_EQ(rows.status().code(), StatusCode::kInvalidData);
    }
  }
  for (size_t at = 0; at < frames.size(); ++at) {
    Bytes damaged = frames;
    damaged[at] ^= static_cast<uint8_t>(1 << (at % 8));
    EXPECT_EQ(RowsOf(damaged).status().code(), StatusCode::kInvalidData) << at;
  }
}

}  // namespace
}  // namespace weir::saved_model
