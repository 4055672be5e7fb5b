// Cuts of a row partition: what is read of one while rows change is what they were at it.
#include <algorithm>
#include <memory>
#include <tuple>
#include <vector>

#include "common/base/random.h"
#include "common/store/row_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/store/store_test_support.h"

namespace weir::store {
namespace {

using RowBits = std::tuple<uint32_t, uint64_t, std::vector<uint32_t>, std::vector<uint32_t>>;

RowBits BitsOf(uint32_t table, uint64_t id, std::span<const float> values,
               std::span<const float> state) {
  return {table, id, BitsIn(values), BitsIn(state)};
}

// In the order of their creation.
std::vector<RowBits> BitsOfAll(const RowPartitionStore& store) {
  std::vector<RowBits> rows;
  store.ForEachRow([&](const auto&... row) { rows.push_back(BitsOf(row...)); });
  return rows;
}

struct CutPush {
  int form = 0;  // which of the store's calls take it
  std::vector<BatchRow> rows;
  std::vector<float> matrix;
};

CutPush RandomPush(RandomStream& random, size_t dimension, uint64_t id_limit) {
  CutPush push{.form = static_cast<int>(random.NextBelow(4)), .rows = {}, .matrix = {}};
  const auto count = static_cast<uint32_t>(random.NextBelow(40));
  for (uint32_t i = 0; i < count; ++i) {
    push.rows.push_back(
        {static_cast<uint32_t>(random.NextBelow(3)), i, random.NextBelow(id_limit)});
  }
  push.matrix = RandomVector(random, count * dimension);
  return push;
}

// Forms 0 and 1 are batches, 2 single rows; 3 is a pull, which creates rows.
void Take(const CutPush& push, size_t dimension, uint64_t step, RowPartitionStore* store) {
  std::vector<float> read(push.matrix.size());
  std::vector<RowPlace> places;
  if (push.form == 0) return store->ApplyBatch(push.rows, push.matrix, step);
  if (push.form == 2) {
    for (const BatchRow& row : push.rows) {
      store->Apply(row.table, row.id,
                   std::span(push.matrix).subspan(row.position * dimension, dimension), step);
    }
    return;
  }
  store->ReadBatch(push.rows, step - 1, read, &places);
  if (push.form == 1) store->ApplyPlaces(places, push.matrix, step);
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
      Take(pushes_.back(), dimension_, pushes_.size(), &store_);
    }
  }

  // Reads a cut of now, in sections of any size with pushes between them.
  void CheckCut() {
    const std::vector<RowBits> expected = BitsOfAll(store_);
    const size_t at = pushes_.size();
    RowPartitionStore restored(layout_, rule_);
    std::vector<RowBits> read;
    store_.BeginCut();
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
    for (size_t i = at; i < pushes_.size(); ++i) Take(pushes_[i], dimension_, i + 1, &restored);
    ASSERT_EQ(BitsOfAll(restored), BitsOfAll(store_));
  }

 private:
  static constexpr uint64_t kIdLimit = 900;

  const ModelLayout layout_;
  const UpdateRule& rule_;
  const size_t dimension_;
  RandomStream random_;
  RowPartitionStore store_;
  std::vector<CutPush> pushes_;
};

TEST(RowCut, HasRowsAsTheyWereAndTheyGoOnAsTheyWouldHave) {
  uint64_t seed = 0;
  for (const char* rule : kRulesOfRows) {
    for (const size_t dimension : {1u, 16u, 600u}) {
      SCOPED_TRACE(testing::Message() << rule << " " << dimension << ", seed " << ++seed);
      const auto made = MakeRule(rule);
      CutHistory history(*made, dimension, seed);
      history.CheckCut();  // of nothing
      history.Push(50);
      history.CheckCut();
      history.CheckCut();
      history.Push(20);
      history.CheckCut();
    }
  }
}

class RowCutTest : public testing::Test {
 protected:
  static constexpr uint64_t kRows = 3000;

  RowCutTest() {
    for (uint64_t id = 0; id < kRows; ++id) Push(id);
  }
  void Push(uint64_t id) { store_.Apply(0, id, std::vector<float>(4, 1.0f), 1); }
  std::vector<RowBits> ReadCut(uint32_t most) {
    std::vector<RowBits> rows;
    store_.VisitCut(most, [&](const auto&... row) { rows.push_back(BitsOf(row...)); });
    return rows;
  }

  const ModelLayout layout_ = MakeLayout({});
  const std::unique_ptr<const UpdateRule> rule_ =
      MakeRule("momentum { learning_rate: 0.1 } weight_decay: 0.01");
  RowPartitionStore store_{layout_, *rule_};
};

TEST_F(RowCutTest, KeepsEachRowOnceAndOnlyWhatIsStillToBeRead) {
  const int64_t before = store_.memory_bytes();
  store_.BeginCut();
  ReadCut(kRows / 2);
  const int64_t begun = store_.memory_bytes();
  for (uint64_t id = 0; id < kRows / 2; ++id) Push(id);
  EXPECT_EQ(store_.memory_bytes(), begun) << "were read";
  Push(kRows - 1);
  const int64_t one = store_.memory_bytes();
  EXPECT_GT(one, begun);
  Push(kRows - 1);
  EXPECT_EQ(store_.memory_bytes(), one) << "is kept";
  store_.EndCut();
  EXPECT_EQ(store_.memory_bytes(), before);
}

TEST_F(RowCutTest, RowsCreatedSinceAreNotInIt) {
  store_.BeginCut();
  for (uint64_t id = kRows; id < 40 * kRows; ++id) Push(id);  // slabs of their own, too
  EXPECT_EQ(store_.cut_row_count(), kRows);
  EXPECT_EQ(ReadCut(100 * kRows).size(), kRows);
  EXPECT_EQ(store_.cut_rows_read(), kRows);
}

TEST_F(RowCutTest, SettlingAndLoadingAreChangesToo) {
  const std::vector<RowBits> expected = BitsOfAll(store_);
  store_.BeginCut();
  store_.Settle(0, kRows / 2, 9);
  store_.Load(0, kRows - 1, std::vector<float>(4), std::vector<float>(5));
  ASSERT_NE(BitsOfAll(store_).front(), expected.front());
  ASSERT_NE(BitsOfAll(store_).back(), expected.back());
  EXPECT_EQ(ReadCut(kRows), expected);
}

TEST_F(RowCutTest, EndsBeforeAllIsReadAndAnotherBegins) {
  store_.BeginCut();
  Push(7);
  ReadCut(10);
  store_.EndCut();
  store_.EndCut();
  EXPECT_THAT(ReadCut(10), testing::IsEmpty());
  store_.BeginCut();
  EXPECT_EQ(ReadCut(kRows), BitsOfAll(store_));
  EXPECT_DEATH(store_.BeginCut(), "one cut at a time");
}

}  // namespace
}  // namespace weir::store
