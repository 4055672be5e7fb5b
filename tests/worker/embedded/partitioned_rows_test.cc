#include "worker/embedded/partitioned_rows.h"

#include <gtest/gtest.h>

#include "common/base/random.h"
#include "common/layout/model_layout.h"

namespace weir::worker {
namespace {

data::Batch RandomBatch(uint64_t seed, size_t tables) {
  RandomStream random(seed);
  data::Batch batch;
  batch.tables.resize(tables);
  for (data::TableIds& ids : batch.tables) {
    for (uint64_t id = random.NextBelow(4); id < 200; id += 1 + random.NextBelow(9)) {
      ids.unique.push_back(id);
    }
  }
  return batch;
}

TEST(PartitionedRows, HoldsEachRowOnceWithItsPositionInItsPartition) {
  for (const size_t partitions : {1u, 3u, 8u}) {
    PartitionedRows rows(partitions);
    for (uint64_t seed = 0; seed < 4; ++seed) {  // filled again and again
      const data::Batch batch = RandomBatch(seed, 5);
      std::vector<store::BatchRow> expected;
      for (uint32_t table = 0; table < 5; ++table) {
        for (const uint64_t id : batch.tables[table].unique) {
          expected.push_back({table, static_cast<uint32_t>(expected.size()), id});
        }
      }
      rows.Fill(batch);
      size_t count = 0;
      for (uint32_t part = 0; part < partitions; ++part) {
        uint32_t next = 0;
        for (const store::BatchRow& row : rows.part(part)) {
          ASSERT_GE(row.position, next);
          ASSERT_LT(row.position, expected.size());
          EXPECT_EQ(row.table, expected[row.position].table);
          EXPECT_EQ(row.id, expected[row.position].id);
          EXPECT_EQ(RowPartition(row.table, row.id, static_cast<uint32_t>(partitions)), part);
          next = row.position + 1;
          ++count;
        }
      }
      EXPECT_EQ(count, expected.size());
    }
  }
}

TEST(PartitionedRows, OfAnEmptyBatchAreEmpty) {
  PartitionedRows rows(2);
  rows.Fill(RandomBatch(1, 3));
  rows.places(0).resize(rows.part(0).size());  // read
  rows.Fill(data::Batch());
  EXPECT_TRUE(rows.places(0).empty());
  EXPECT_TRUE(rows.part(0).empty());
  EXPECT_TRUE(rows.part(1).empty());
}

}  // namespace
}  // namespace weir::worker
