#include "worker/data/reader_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "tests/worker/data/data_files.h"

namespace weir::data {
namespace {

std::unique_ptr<Reader> Make(const v1::Config& config) {
  auto reader = MakeReader(config);
  EXPECT_TRUE(reader.ok()) << reader.status();
  return reader.ok() ? *std::move(reader) : nullptr;
}

RowBlock ReadBlock(const v1::Config& config, const ChunkId& chunk) {
  RowBlock block;
  EXPECT_TRUE(Make(config)->ReadChunk(chunk, &block).ok());
  return block;
}

TEST(ReaderTable, HasARowForEveryReaderOfTheConfig) {
  const auto* readers = v1::DataConfig::descriptor()->FindOneofByName("reader");
  ASSERT_NE(readers, nullptr);
  for (int i = 0; i < readers->field_count(); ++i) {
    const auto matches = [&](const ReaderEntry& entry) {
      return static_cast<int>(entry.reader_case) == readers->field(i)->number();
    };
    EXPECT_EQ(std::count_if(ReaderTable().begin(), ReaderTable().end(), matches), 1)
        << readers->field(i)->name();
  }
  EXPECT_EQ(ReaderTable().size(), static_cast<size_t>(readers->field_count()));
}

// Its numbers come from the coordinator.
TEST(ReaderTable, EveryReaderRefusesAChunkThatCannotBe) {
  for (const v1::Config& config : {CriteoConfig({}), SyntheticConfig(100, 100)}) {
    const auto reader = Make(config);
    const int32_t files = reader->file_count(Split::kTrain);
    for (const ChunkId& chunk :
         {ChunkId{Split::kTrain, 0, files, 0}, ChunkId{Split::kTrain, 0, -1, 0},
          ChunkId{Split::kTrain, 0, 0, -1}, ChunkId{Split::kTrain, 0, 0, int64_t{1} << 61}}) {
      RowBlock block;
      EXPECT_EQ(reader->ReadChunk(chunk, &block).status().code(), StatusCode::kInvalidData);
    }
  }
}

TEST(ReaderTable, RefusesAConfigThatChoosesNone) {
  const Status status = MakeReader(v1::Config()).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidConfig);
}

class Shuffle : public DataFilesTest {
 protected:
  Shuffle() : config_(SyntheticConfig(1000, 100)) {}

  v1::Config Shuffled(uint64_t seed = 1) const {
    v1::Config config = config_;
    config.mutable_data()->set_shuffle(true);
    config.mutable_run()->set_seed(seed);
    return config;
  }

  const v1::Config config_;
};

// Where each row of the shuffled block was before; rows are told apart by their ids.
std::vector<size_t> Permutation(const RowBlock& before, const RowBlock& after) {
  const auto row_ids = [](const RowBlock& block, size_t row) {
    const auto first = block.ids.begin() + static_cast<std::ptrdiff_t>(row * 26);
    return std::vector<uint64_t>(first, first + 26);
  };
  std::vector<size_t> permutation;
  for (size_t row = 0; row < after.labels.size(); ++row) {
    size_t old = 0;
    while (row_ids(before, old) != row_ids(after, row)) ++old;
    EXPECT_EQ(before.labels[old], after.labels[row]);
    for (size_t i = 0; i < 13; ++i) {
      EXPECT_EQ(before.dense[old * 13 + i], after.dense[row * 13 + i]);
    }
    permutation.push_back(old);
  }
  return permutation;
}

TEST_F(Shuffle, PermutesWholeRowsOfAChunk) {
  const ChunkId chunk = {Split::kTrain, 0, 0, 3};
  auto permutation = Permutation(ReadBlock(config_, chunk), ReadBlock(Shuffled(), chunk));
  EXPECT_FALSE(std::is_sorted(permutation.begin(), permutation.end()));
  std::sort(permutation.begin(), permutation.end());
  std::vector<size_t> all(32);
  std::iota(all.begin(), all.end(), size_t{0});
  EXPECT_EQ(permutation, all);
}

TEST_F(Shuffle, IsKeyedBySeedEpochAndChunk) {
  const ChunkId chunk = {Split::kTrain, 0, 0, 3};
  const RowBlock block = ReadBlock(config_, chunk);
  const auto permutation = Permutation(block, ReadBlock(Shuffled(), chunk));
  EXPECT_EQ(Permutation(block, ReadBlock(Shuffled(), chunk)), permutation);
  EXPECT_NE(Permutation(block, ReadBlock(Shuffled(2), chunk)), permutation);
  EXPECT_NE(Permutation(block, ReadBlock(Shuffled(), {Split::kTrain, 1, 0, 3})), permutation);
  const ChunkId other = {Split::kTrain, 0, 0, 4};
  EXPECT_NE(Permutation(ReadBlock(config_, other), ReadBlock(Shuffled(), other)), permutation);
}

TEST_F(Shuffle, FileBytesAreThoseOfTrainingFilesThenTestFiles) {
  v1::Config config = CriteoConfig({Write("a", "1234"), Write("b", "12")});
  config.mutable_data()->add_test(Write("c", "123"));
  EXPECT_EQ(FileBytes(config.data()), (std::vector<uint64_t>{4, 2, 3}));
  config.mutable_data()->set_train(1, "/nowhere/d");
  EXPECT_EQ(FileBytes(config.data()), (std::vector<uint64_t>{4, 0, 3}));
  config.mutable_data()->mutable_synthetic();
  EXPECT_EQ(FileBytes(config.data()), (std::vector<uint64_t>{}));
}

TEST_F(Shuffle, IsKeyedByFile) {
  std::string text;
  for (int i = 0; i < 64; ++i) text += CriteoLine(i * 37) + "\n";
  v1::Config config = CriteoConfig({Write("a", text), Write("b", text)});
  config.mutable_data()->set_batch_size(64);
  config.mutable_data()->set_shuffle(true);
  EXPECT_NE(ReadBlock(config, {Split::kTrain, 0, 0, 0}).ids,
            ReadBlock(config, {Split::kTrain, 0, 1, 0}).ids);
}

TEST_F(Shuffle, LeavesTestChunksInFileOrder) {
  const ChunkId chunk = {Split::kTest, 0, 0, 0};
  EXPECT_EQ(ReadBlock(config_, chunk).ids, ReadBlock(Shuffled(), chunk).ids);
  EXPECT_EQ(Make(Shuffled())->file_count(Split::kTest), 1);
}

TEST_F(Shuffle, PassesFailuresOnAndSurvivesEmptyChunks) {
  RowBlock block;
  const auto past = Make(Shuffled())->ReadChunk({Split::kTrain, 0, 0, 99}, &block);
  ASSERT_TRUE(past.ok());
  EXPECT_TRUE(past->end_of_file);
  v1::Config config = CriteoConfig({Write("f", CriteoLines(0, 4))});
  config.mutable_data()->set_shuffle(true);
  const auto reader = Make(config);
  std::filesystem::remove(Path("f"));
  EXPECT_FALSE(reader->ReadChunk({}, &block).ok());
}

}  // namespace
}  // namespace weir::data
