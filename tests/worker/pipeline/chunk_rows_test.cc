#include "worker/pipeline/chunk_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/base/strings.h"
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

class ChunkRowsTest : public testing::Test {
 protected:
  data::RowBlock ReadWhole(uint64_t chunk, uint32_t epoch = 0) {
    data::RowBlock all;
    CHECK(reader_
              ->ReadColumns({data::Split::kTrain, static_cast<int32_t>(epoch), 0,
                             static_cast<int64_t>(chunk)},
                            {.hash = true}, &all)
              .ok());
    return all;
  }
  // As the first stage names it.
  v1::BatchName Name(uint64_t chunk, uint64_t begin, uint32_t row_count, uint32_t epoch = 0) {
    v1::BatchName name;
    name.set_split(v1::TRAIN);
    name.set_epoch(epoch);
    name.set_chunk(chunk);
    name.set_begin(begin);
    name.set_row_count(row_count);
    name.set_chunk_hash(ReadWhole(chunk, epoch).hash);
    return name;
  }

  const v1::Config config_ = Config();
  const ModelLayout layout_{config_, 1};
  const std::unique_ptr<data::Reader> reader_ = data::MakeReader(config_).value();
};

TEST_F(ChunkRowsTest, AreTheReadersWithTheColumnsOfTheStage) {
  const data::RowBlock all = ReadWhole(1);
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
  EXPECT_NE(rows.Find(Name(0, 0, 10, 1)).value()->labels, first->labels) << "shuffled anew";
}

TEST_F(ChunkRowsTest, ABatchThatIsNotThereIsRefused) {
  ChunkRows rows(layout_.stages()[1], reader_.get());
  EXPECT_THAT(rows.Find(Name(3, 5, 10)).status().message(),
              HasSubstr("chunk 3 of file 0 has 10 rows, and the first stage names rows 5 to 15"));
  EXPECT_FALSE(rows.Find(Name(0, UINT64_MAX, 10)).ok());
  v1::BatchName other_file = Name(0, 0, 10);
  other_file.set_file(9);
  EXPECT_THAT(rows.Find(other_file).status().message(), HasSubstr("a batch of file 9"));
}

TEST_F(ChunkRowsTest, OfAnotherFileAreRefused) {
  constexpr char kOther[] =
      "chunk 0 of file 0 has other lines here than at the first stage, and all stages must read "
      "the same files";
  ChunkRows rows(layout_.stages()[1], reader_.get());
  v1::BatchName name = Name(0, 0, 10);
  name.set_chunk_hash(name.chunk_hash() + 1);
  EXPECT_EQ(rows.Find(name).status().message(), kOther);
  ASSERT_TRUE(rows.Find(Name(0, 0, 10)).ok());
  EXPECT_EQ(rows.Find(name).status().message(), kOther) << "though they have been read already";
  name = Name(0, 0, 10);
  name.add_malformed(3);
  EXPECT_EQ(rows.Find(name).status().message(), kOther) << "read with another list";
}

// The first stage reads the dense features, and passed over a line for one of them.
TEST(ChunkRows, PassOverTheLinesThatTheFirstStageFoundMalformed) {
  const std::string path = StrCat(testing::TempDir(), "chunk_rows_", getpid(), ".csv");
  std::ofstream(path) << "y,h,s\n1,1,a\n0,noon,b\n1,2,c\n";
  const v1::Config config = test::MakeConfig({R"(
      data { batch_size: 10 csv { label { column: "y" } dense { column: "h" }
                                  categorical { column: "s" rows: 50 } } }
      pipeline { split { after: "bottom/1" } })",
                                              StrCat("data { train: '", path, "' }")});
  const std::unique_ptr<data::Reader> reader = data::MakeReader(config).value();
  data::RowBlock all;
  ASSERT_TRUE(reader->ReadColumns({}, {.hash = true}, &all).ok());
  v1::BatchName name;
  name.set_row_count(2);
  name.set_chunk_hash(all.hash);
  name.mutable_malformed()->Assign(all.malformed.begin(), all.malformed.end());
  ChunkRows rows(ModelLayout(config, 1).stages()[1], reader.get());
  const auto found = rows.Find(name);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)->ids, all.ids);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace weir::worker
