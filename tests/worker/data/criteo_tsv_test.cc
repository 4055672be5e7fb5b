#include "worker/data/criteo_tsv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "tests/worker/data/data_files.h"

namespace weir::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class CriteoTsv : public DataFilesTest {
 protected:
  static std::unique_ptr<Reader> Make(const v1::Config& config) {
    auto reader = MakeCriteoTsvReader(config);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return reader.ok() ? *std::move(reader) : nullptr;
  }

  ChunkResult Read(Reader& reader, int64_t chunk, int32_t file = 0, Split split = Split::kTrain) {
    auto result = reader.ReadChunk({split, 0, file, chunk}, &block_);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : ChunkResult{};
  }

  // The numbers that CriteoLine was given, recovered from the first integer.
  std::vector<int> Numbers() const {
    std::vector<int> numbers;
    for (int64_t row = 0; row < block_.row_count(); ++row) {
      const float value = block_.dense[static_cast<size_t>(row) * 13];
      numbers.push_back(static_cast<int>(std::lround(std::expm1(value))));
    }
    return numbers;
  }

  RowBlock block_;
};

TEST_F(CriteoTsv, TransformsIntegersAndFoldsCategoricals) {
  const std::string line = "1\t\t-2\t5\t2071071" + std::string(9, '\t') + "\tffffffff\t3E9\t3e7" +
                           std::string(23, '\t') + "\n";
  const auto reader = Make(CriteoConfig({Write("f", line)}));
  EXPECT_EQ(Read(*reader, 0).line_count, 1);
  EXPECT_EQ(block_.dense_count, 13);
  EXPECT_EQ(block_.table_count, 26);
  EXPECT_THAT(block_.labels, ElementsAre(1.0f));
  std::vector<float> dense(13, 0.0f);
  dense[2] = static_cast<float>(std::log(6.0));
  dense[3] = static_cast<float>(std::log(2071072.0));
  EXPECT_THAT(block_.dense, testing::Pointwise(testing::FloatEq(), dense));
  std::vector<uint64_t> ids(26, 0);
  ids[0] = 0xffffffff % 1000, ids[1] = 1, ids[2] = 999;
  EXPECT_EQ(block_.ids, ids);
}

TEST_F(CriteoTsv, KeepsCategoricalsWholeInTablesBeyond32Bits) {
  v1::Config config =
      CriteoConfig({Write("f", "0" + std::string(14, '\t') + "ffffffff" + std::string(25, '\t'))});
  config.mutable_data()->mutable_criteo_tsv()->set_rows_per_table(int64_t{1} << 40);
  Read(*Make(config), 0);
  EXPECT_EQ(block_.ids[0], 0xffffffffu);
}

TEST_F(CriteoTsv, CutsAFileIntoChunksOfRawLines) {
  const auto reader = Make(CriteoConfig({Write("f", CriteoLines(0, 10))}));
  EXPECT_FALSE(Read(*reader, 0).end_of_file);
  EXPECT_THAT(Numbers(), ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(Read(*reader, 1).end_of_file);
  EXPECT_THAT(Numbers(), ElementsAre(4, 5, 6, 7));
  const ChunkResult last = Read(*reader, 2);
  EXPECT_THAT(Numbers(), ElementsAre(8, 9));
  EXPECT_EQ(last.line_count, 2);
  EXPECT_TRUE(last.end_of_file);
}

// Others may have read the rest of each, and this process never meets the end.
TEST_F(CriteoTsv, FewOfManyFilesAreOpen) {
  const auto open_files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  std::vector<std::string> paths;
  for (int i = 0; i < 40; ++i)
    paths.push_back(Write(StrCat("f", i), CriteoLines(10 * i, 10 * i + 10)));
  const auto reader = Make(CriteoConfig(paths));
  const auto before = open_files();
  for (int32_t file = 0; file < 40; ++file) Read(*reader, 0, file);
  EXPECT_LE(open_files() - before, 4);
  Read(*reader, 1, 7);
  EXPECT_THAT(Numbers(), ElementsAre(74, 75, 76, 77)) << "it is opened again";
}

TEST_F(CriteoTsv, KnowsTheEndOfAFileOfWholeChunks) {
  const auto reader = Make(CriteoConfig({Write("f", CriteoLines(0, 8))}));
  EXPECT_FALSE(Read(*reader, 0).end_of_file);
  EXPECT_TRUE(Read(*reader, 1).end_of_file);
  for (const int64_t chunk : {2, 3, 1000}) {
    const ChunkResult past = Read(*reader, chunk);
    EXPECT_TRUE(past.end_of_file);
    EXPECT_EQ(past.line_count, 0);
    EXPECT_EQ(block_.row_count(), 0);
  }
}

TEST_F(CriteoTsv, GivesAnyChunkInAnyOrder) {
  for (const std::string& path :
       {Write("f", CriteoLines(0, 41)), WriteGzip("f.gz", CriteoLines(0, 41))}) {
    const auto reader = Make(CriteoConfig({path}));
    for (const int64_t chunk : {5, 9, 10, 2, 2, 3, 0, 10, 10, 7}) {
      Read(*reader, chunk);
      const int first = static_cast<int>(chunk) * 4;
      std::vector<int> expected(static_cast<size_t>(std::min(4, 41 - first)));
      std::iota(expected.begin(), expected.end(), first);
      EXPECT_EQ(Numbers(), expected) << path << " chunk " << chunk;
    }
  }
}

TEST_F(CriteoTsv, KeepsThePlacesInSeveralFilesApart) {
  v1::Config config =
      CriteoConfig({Write("a", CriteoLines(100, 120)), Write("b", CriteoLines(200, 220))});
  config.mutable_data()->add_test(Write("t", CriteoLines(300, 320)));
  const auto reader = Make(config);
  EXPECT_EQ(reader->file_count(Split::kTrain), 2);
  EXPECT_EQ(reader->file_count(Split::kTest), 1);
  for (const int64_t chunk : {0, 1, 3}) {
    const int first = static_cast<int>(chunk) * 4;
    Read(*reader, chunk, 0);
    EXPECT_EQ(Numbers()[0], 100 + first);
    Read(*reader, chunk, 1);
    EXPECT_EQ(Numbers()[0], 200 + first);
    Read(*reader, chunk, 0, Split::kTest);
    EXPECT_EQ(Numbers()[0], 300 + first);
  }
}

TEST_F(CriteoTsv, SkipsCountsAndDescribesMalformedLines) {
  const std::string text = CriteoLine(0) + "\n\n" + CriteoLine(2) + "\r\nx\n";
  const auto path = Write("f", text + CriteoLine(4) + "\nbad");
  const auto reader = Make(CriteoConfig({path}));
  const ChunkResult first = Read(*reader, 0);
  EXPECT_THAT(Numbers(), ElementsAre(0, 2));
  EXPECT_EQ(first.line_count, 4);
  EXPECT_THAT(block_.malformed, ElementsAre(1, 3));
  EXPECT_THAT(first.problems,
              ElementsAre(path + ":2: empty line", path + ":4: 40 fields expected, found 1"));
  const ChunkResult second = Read(*reader, 1);
  EXPECT_THAT(Numbers(), ElementsAre(4));
  EXPECT_THAT(second.problems, ElementsAre(path + ":6: 40 fields expected, found 1"));
  EXPECT_TRUE(second.end_of_file);
}

TEST_F(CriteoTsv, DescribesOnlyTheFirstFiveOfAChunk) {
  v1::Config config = CriteoConfig({Write("f", std::string(40, '\n'))});
  config.mutable_data()->set_batch_size(20);
  const ChunkResult result = Read(*Make(config), 0);
  EXPECT_EQ(block_.malformed.size(), 40u);
  EXPECT_EQ(block_.row_count(), 0);
  EXPECT_THAT(result.problems, SizeIs(5));
  EXPECT_THAT(result.problems[4], EndsWith(":5: empty line"));
}

TEST_F(CriteoTsv, SkipsALineTooLongToRead) {
  const auto path =
      Write("f", CriteoLine(0) + "\n" + std::string(3'000'000, '1') + "\n" + CriteoLine(2));
  const ChunkResult result = Read(*Make(CriteoConfig({path})), 0);
  EXPECT_THAT(Numbers(), ElementsAre(0, 2));
  EXPECT_THAT(result.problems, ElementsAre(path + ":2: line is longer than 1048576 bytes"));
}

TEST_F(CriteoTsv, ReportsBadFilesBeforeAnythingIsRead) {
  const auto good = Write("good", CriteoLines(0, 1));
  const Status missing = MakeCriteoTsvReader(CriteoConfig({good, Path("gone")})).status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_EQ(missing.message(), StrCat("data.train[1]: ", Path("gone"),
                                      ": no such file; correct it, or say where the files are: "
                                      "--override='data { root: \"FOLDER\" }'"));
  v1::Config config = CriteoConfig({good});
  config.mutable_data()->add_test(Write("empty", ""));
  const Status empty = MakeCriteoTsvReader(config).status();
  EXPECT_EQ(empty.code(), StatusCode::kInvalidData);
  EXPECT_EQ(empty.message(), StrCat("data.test[0]: ", Path("empty"), " is empty"));
}

TEST_F(CriteoTsv, ResolvesRelativePathsWithTheRoot) {
  Write("f", CriteoLines(0, 1));
  v1::Config config = CriteoConfig({"f"});
  EXPECT_FALSE(MakeCriteoTsvReader(config).ok());
  config.mutable_data()->set_root(directory());
  EXPECT_EQ(Read(*Make(config), 0).line_count, 1);
  config.mutable_data()->set_train(0, Path("f"));
  config.mutable_data()->set_root("/elsewhere");
  EXPECT_EQ(Read(*Make(config), 0).line_count, 1) << "an absolute path stays as it is";
}

TEST_F(CriteoTsv, FailsOnAChunkOfATruncatedFileWithItsName) {
  const auto path = WriteGzip("f.gz", CriteoLines(0, 20'000));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const auto reader = Make(CriteoConfig({path}));
  EXPECT_EQ(Read(*reader, 0).line_count, 4);
  const Status status = reader->ReadChunk({Split::kTrain, 0, 0, 4999}, &block_).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidData);
  EXPECT_THAT(status.message(), AllOf(StartsWith(path), HasSubstr("ends early")));
}

// Its lines would be other ones, or more, than those that were counted so far.
TEST_F(CriteoTsv, FailsOnAFileThatWasChanged) {
  const auto path = Write("f", CriteoLines(0, 12));
  const auto reader = Make(CriteoConfig({path}));
  Read(*reader, 0);
  const auto written = std::filesystem::last_write_time(path);
  Write("f", CriteoLines(0, 13));
  std::filesystem::last_write_time(path, written);
  const auto expect_refused = [&] {
    const Status status = reader->ReadChunk({Split::kTrain, 0, 0, 1}, &block_).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidData);
    EXPECT_THAT(status.message(), StartsWith(path + " was changed after the run began"));
  };
  expect_refused();
  Write("f", CriteoLines(0, 12));
  std::filesystem::last_write_time(path, written + std::chrono::seconds(1));
  expect_refused();
  std::filesystem::last_write_time(path, written);
  Read(*reader, 1);
}
TEST_F(CriteoTsv, FailsOnAFileThatWentAway) {
  const auto path = Write("f", CriteoLines(0, 4));
  const auto reader = Make(CriteoConfig({path}));
  std::filesystem::remove(path);
  EXPECT_EQ(reader->ReadChunk({}, &block_).status().code(), StatusCode::kNotFound);
}

TEST_F(CriteoTsv, ALabelThatIsNotKnownIsNoneWhereRowsAreScored) {
  const std::string line = CriteoLine(3), fields = line.substr(line.find('\t'));
  const v1::Config config = CriteoConfig(
      {Write("f", StrCat(line, "\n", "?", fields, "\n", fields, "\n", fields.substr(1), "\n"))});
  auto reader = MakeReader(config, {}, RowLabels::kOptional);
  ASSERT_TRUE(reader.ok()) << reader.status();
  RowBlock block;
  const auto result = (*reader)->ReadChunk({}, &block);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(block.malformed.empty()) << result->problems[0];
  ASSERT_EQ(block.row_count(), 4);
  EXPECT_EQ(block.labels[0], 1);
  for (const size_t row : {1u, 2u, 3u}) {
    EXPECT_TRUE(std::isnan(block.labels[row])) << row;
    EXPECT_TRUE(std::equal(block.ids.begin(), block.ids.begin() + 26,
                           block.ids.begin() + static_cast<std::ptrdiff_t>(26 * row)));
  }
}

TEST_F(CriteoTsv, ReadsTheRealSampleWithoutAMalformedLine) {
  const std::string path = WEIR_SOURCE_DIR "/../shared/data/criteo_sample_train.tsv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  v1::Config config = CriteoConfig({path});
  config.mutable_data()->set_batch_size(128);
  config.mutable_data()->set_chunk_batches(32);
  config.mutable_data()->mutable_criteo_tsv()->set_rows_per_table(100'000);
  const auto reader = Make(config);
  int64_t rows = 0, clicks = 0;
  for (int64_t chunk = 0;; ++chunk) {
    const ChunkResult result = Read(*reader, chunk);
    EXPECT_THAT(result.problems, IsEmpty());
    rows += block_.row_count();
    clicks += std::count(block_.labels.begin(), block_.labels.end(), 1.0f);
    EXPECT_TRUE(std::all_of(block_.ids.begin(), block_.ids.end(),
                            [](uint64_t id) { return id < 100'000; }));
    EXPECT_TRUE(std::all_of(block_.dense.begin(), block_.dense.end(),
                            [](float x) { return x >= 0 && x < 20; }));
    if (result.end_of_file || result.line_count == 0) break;
  }
  EXPECT_EQ(rows, 100'000);
  EXPECT_NEAR(static_cast<double>(clicks) / static_cast<double>(rows), 0.257, 0.002);
}

}  // namespace
}  // namespace weir::data
