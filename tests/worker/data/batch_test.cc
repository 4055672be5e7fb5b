#include "worker/data/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "common/base/random.h"

namespace weir::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

RowBlock SmallBlock() {
  RowBlock block;
  block.dense_count = 2;
  block.table_count = 2;
  block.labels = {0, 1, 1, 0};
  block.dense = {1, 2, 3, 4, 5, 6, 7, 8};
  block.ids = {9, 100, 3, 100, 9, 100, 1ULL << 40, 7};
  return block;
}

TEST(MakeBatch, CutsLabelsAndDenseFeaturesOfTheRange) {
  Batch batch;
  MakeBatch(SmallBlock(), 1, 3, &batch);
  EXPECT_EQ(batch.row_count, 2);
  EXPECT_THAT(batch.labels, ElementsAre(1, 1));
  EXPECT_THAT(batch.dense, ElementsAre(3, 4, 5, 6));
}

TEST(MakeBatch, GivesDistinctIdsAscendingAndEachSamplesPosition) {
  Batch batch;
  MakeBatch(SmallBlock(), 0, 4, &batch);
  ASSERT_EQ(batch.tables.size(), 2u);
  EXPECT_THAT(batch.tables[0].unique, ElementsAre(3, 9, 1ULL << 40));
  EXPECT_THAT(batch.tables[0].positions, ElementsAre(1, 0, 1, 2));
  EXPECT_THAT(batch.tables[1].unique, ElementsAre(7, 100));
  EXPECT_THAT(batch.tables[1].positions, ElementsAre(1, 1, 1, 0));
}

TEST(MakeBatch, LooksOnlyAtItsOwnRows) {
  Batch batch;
  MakeBatch(SmallBlock(), 0, 2, &batch);
  EXPECT_THAT(batch.tables[0].unique, ElementsAre(3, 9));
  EXPECT_THAT(batch.tables[1].unique, ElementsAre(100));
}

TEST(MakeBatch, KeepsListsAndTheirWeights) {
  RowBlock block;
  block.table_count = 2;
  block.labels = {0, 1, 1};
  block.ids = {5, 9, 5, 7, 1, 9, 2, 2};
  block.id_ends = {3, 4, 4, 5, 6, 8};  // rows of [5 9 5 | 7], [ | 1], [9 | 2 2]
  block.weights = {1, 2, 3, 4, 5, 6, 7, 8};
  Batch batch;
  MakeBatch(block, 0, 3, &batch);
  EXPECT_THAT(batch.tables[0].unique, ElementsAre(5, 9));
  EXPECT_THAT(batch.tables[0].positions, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(batch.tables[0].ends, ElementsAre(3, 3, 4));
  EXPECT_THAT(batch.tables[0].weights, ElementsAre(1, 2, 3, 6));
  EXPECT_THAT(batch.tables[1].unique, ElementsAre(1, 2, 7));
  EXPECT_THAT(batch.tables[1].positions, ElementsAre(2, 0, 1, 1));
  EXPECT_THAT(batch.tables[1].ends, ElementsAre(1, 2, 4));
  EXPECT_THAT(batch.tables[1].weights, ElementsAre(4, 5, 7, 8));
  MakeBatch(block, 1, 2, &batch);
  EXPECT_THAT(batch.tables[0].unique, IsEmpty());
  EXPECT_THAT(batch.tables[0].ends, ElementsAre(0));
  EXPECT_THAT(batch.tables[1].positions, ElementsAre(0));
}

TEST(MakeBatch, EveryPositionLeadsBackToTheSamplesId) {
  RowBlock block;
  block.table_count = 3;
  RandomStream stream(5);
  block.labels.resize(500);
  for (int i = 0; i < 1500; ++i) block.ids.push_back(stream.NextBelow(i % 3 == 0 ? 20 : 1u << 30));
  Batch batch;
  MakeBatch(block, 100, 400, &batch);
  for (size_t t = 0; t < 3; ++t) {
    const TableIds& ids = batch.tables[t];
    ASSERT_EQ(ids.positions.size(), 300u);
    EXPECT_TRUE(std::is_sorted(ids.unique.begin(), ids.unique.end()));
    EXPECT_EQ(std::adjacent_find(ids.unique.begin(), ids.unique.end()), ids.unique.end());
    for (size_t s = 0; s < 300; ++s) {
      EXPECT_EQ(ids.unique[ids.positions[s]], block.ids[(100 + s) * 3 + t]);
    }
  }
}

// Ids of every width, from none to all 64 bits, in batches of every size.
TEST(MakeBatch, AgreesWithASetWhateverTheIds) {
  RandomStream random(6);
  Batch batch;
  for (int bits = 0; bits <= 64; ++bits) {
    RowBlock block;
    block.table_count = 2;
    const auto rows = static_cast<int64_t>(random.NextBelow(700));
    block.labels.resize(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows * 2; ++i) {
      const uint64_t id = bits == 0 ? 0 : random.Next() >> (64 - bits);
      block.ids.push_back(i % 3 == 0 && i > 1 ? block.ids[static_cast<size_t>(i) - 2] : id);
    }
    MakeBatch(block, 0, rows, &batch);
    for (size_t t = 0; t < 2; ++t) {
      std::set<uint64_t> expected;
      for (size_t s = 0; s < static_cast<size_t>(rows); ++s) expected.insert(block.ids[s * 2 + t]);
      const TableIds& ids = batch.tables[t];
      EXPECT_THAT(ids.unique, testing::ElementsAreArray(expected)) << bits;
      ASSERT_EQ(std::ssize(ids.positions), rows);
      for (size_t s = 0; s < static_cast<size_t>(rows); ++s) {
        ASSERT_EQ(ids.unique[ids.positions[s]], block.ids[s * 2 + t]) << bits;
      }
    }
  }
}

TEST(MakeBatch, ReusesTheMemoryOfTheBatchBefore) {
  const RowBlock block = SmallBlock();
  Batch batch;
  MakeBatch(block, 0, 4, &batch);
  const float* dense = batch.dense.data();
  const uint64_t* unique = batch.tables[0].unique.data();
  MakeBatch(block, 2, 4, &batch);
  EXPECT_EQ(batch.row_count, 2);
  EXPECT_EQ(batch.dense.data(), dense);
  EXPECT_EQ(batch.tables[0].unique.data(), unique);
  EXPECT_THAT(batch.tables[0].positions, ElementsAre(0, 1));
}

TEST(MakeBatch, EmptyRangeGivesAnEmptyBatch) {
  Batch batch;
  MakeBatch(SmallBlock(), 3, 3, &batch);
  EXPECT_EQ(batch.row_count, 0);
  EXPECT_THAT(batch.tables[1].unique, IsEmpty());
  EXPECT_THAT(batch.tables[1].positions, IsEmpty());
}

TEST(MakeBatch, WorksWithoutTables) {
  RowBlock block;
  block.dense_count = 1;
  block.labels = {1, 0};
  block.dense = {0.5f, 0.25f};
  Batch batch;
  MakeBatch(block, 0, 2, &batch);
  EXPECT_THAT(batch.tables, IsEmpty());
  EXPECT_THAT(batch.dense, ElementsAre(0.5f, 0.25f));
}

TEST(MakeBatchDeathTest, RangePastTheEndIsOurOwnMistake) {
  Batch batch;
  EXPECT_DEATH(MakeBatch(SmallBlock(), 2, 5, &batch), "5 vs. 4");
}

}  // namespace
}  // namespace weir::data
