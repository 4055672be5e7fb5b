#include "worker/pipeline/chunk_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/loopback_cluster.h"

namespace weir::worker {
namespace {

using testing::HasSubstr;

v1::Config Config() {
  return test::MakeConfig({R"(
      data { batch_size: 10 chunk_batches: 3 shuffle: true
             synthetic { rows: 100 test_rows: 25 tables: 2 dense_features: 3 } }
      pipeline { split { after: "bottom/1" } split { after: "top/0" } })"});
}

v1::BatchName Name(uint64_t chunk, uint64_t begin, uint32_t row_count) {
  v1::BatchName name;
  name.set_split(v1::TRAIN);
  name.set_chunk(chunk);
  name.set_begin(begin);
  name.set_row_count(row_count);
  return name;
}

class ChunkRowsTest : public testing::Test {
 protected:
  const v1::Config config_ = Config();
  const ModelLayout layout_{config_, 1};
  const std::unique_ptr<data::Reader> reader_ = data::MakeReader(config_).value();
};

TEST_F(ChunkRowsTest, AreTheReadersWithTheColumnsOfTheStage) {
  data::RowBlock all;
  ASSERT_TRUE(reader_->ReadChunk({data::Split::kTrain, 0, 0, 1}, &all).ok());
  ChunkRows middle(layout_.stages()[1], reader_.get()), last(layout_.stages()[2], reader_.get());
  const auto with_ids = middle.Find(Name(1, 20, 10)).value();
  EXPECT_EQ(with_ids->ids, all.ids);
  EXPECT_EQ(with_ids->labels, all.labels);
  EXPECT_TRUE(with_ids->dense.empty());
  EXPECT_EQ(with_ids->dense_count, 0);
  const auto labels_alone = last.Find(Name(1, 0, 10)).value();
  EXPECT_EQ(labels_alone->labels, all.labels);
  EXPECT_TRUE(labels_alone->ids.empty());
  EXPECT_EQ(labels_alone->table_count, 0);
}

TEST_F(ChunkRowsTest, AreReadOnce) {
  ChunkRows rows(layout_.stages()[1], reader_.get());
  const auto first = rows.Find(Name(0, 0, 10)).value();
  EXPECT_EQ(rows.Find(Name(0, 10, 10)).value(), first);
  EXPECT_NE(rows.Find(Name(1, 0, 10)).value(), first);
  EXPECT_EQ(rows.Find(Name(0, 20, 10)).value(), first);
  v1::BatchName next_epoch = Name(0, 0, 10);
  next_epoch.set_epoch(1);
  EXPECT_NE(rows.Find(next_epoch).value()->labels, first->labels) << "shuffled anew";
}

TEST_F(ChunkRowsTest, ABatchThatIsNotThereIsRefused) {
  ChunkRows rows(layout_.stages()[1], reader_.get());
  EXPECT_THAT(rows.Find(Name(3, 5, 10)).status().message(),
              HasSubstr("chunk 3 of file 0 has 10 rows here, and the first stage names rows 5 to "
                        "15: all stages must read the same files"));
  EXPECT_FALSE(rows.Find(Name(0, UINT64_MAX, 10)).ok());
  v1::BatchName other_file = Name(0, 0, 10);
  other_file.set_file(9);
  EXPECT_THAT(rows.Find(other_file).status().message(), HasSubstr("a batch of file 9"));
}

}  // namespace
}  // namespace weir::worker
