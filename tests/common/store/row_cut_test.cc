// Cuts of a row partition: what is read of one while rows change is what they were at it.
#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "common/base/random.h"
#include "common/store/row_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/store/cut_history.h"
#include "tests/common/store/store_test_support.h"

namespace weir::store {
namespace {

class RowCut : public testing::TestWithParam<bool> {};

TEST_P(RowCut, HasRowsAsTheyWereAndTheyGoOnAsTheyWouldHave) {
  uint64_t seed = 0;
  for (const char* rule : kRulesOfRows) {
    for (const size_t dimension : {1u, 16u, 600u}) {
      SCOPED_TRACE(testing::Message() << rule << " " << dimension << ", seed " << ++seed);
      const auto made = MakeRule(rule);
      CutHistory history(*made, dimension, seed);
      history.CheckCut(GetParam());  // of nothing
      history.Push(50);
      history.CheckCut(GetParam());
      history.CheckCut(GetParam());
      history.Push(20);
      history.CheckCut(GetParam());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, RowCut, testing::Bool(),
                         [](const auto& test) { return test.param ? "Settled" : "AsTheyLay"; });

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
