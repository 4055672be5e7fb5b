#include "worker/data/criteo_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "common/base/strings.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/criteo_tsv.h"

namespace weir::data {
namespace {

class CriteoWriterTest : public DataFilesTest {
 protected:
  static Status WriteRows(const SyntheticSet& set, CriteoWriter& writer) {
    SyntheticRow row;
    for (int64_t i = 0; i < set.row_count(Split::kTrain); ++i) {
      set.MakeRow(Split::kTrain, i, &row);
      WEIR_RETURN_IF_ERROR(writer.Write(row));
    }
    return writer.Close();
  }
};

std::string Partial(const std::string& path) { return StrCat(path, ".partial-", getpid()); }

TEST_F(CriteoWriterTest, ReadingTheFileGivesTheRowsOfTheSyntheticReader) {
  v1::Config config = SyntheticConfig(1000, 0);
  const SyntheticSet set(config.data().synthetic());
  for (const std::string name : {"rows.tsv", "rows.tsv.gz"}) {
    auto writer = CriteoWriter::Create(Path(name));
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(WriteRows(set, **writer).ok());

    v1::Config from_file = CriteoConfig({Path(name)});
    from_file.mutable_data()->set_batch_size(8);
    from_file.mutable_data()->set_chunk_batches(4);
    from_file.mutable_data()->mutable_criteo_tsv()->set_rows_per_table(
        config.data().synthetic().rows_per_table());
    const auto expected = MakeSyntheticReader(config), actual = MakeCriteoTsvReader(from_file);
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (int64_t chunk = 0; chunk < 32; ++chunk) {
      RowBlock made, read;
      const auto made_result = (*expected)->ReadChunk({Split::kTrain, 0, 0, chunk}, &made);
      const auto read_result = (*actual)->ReadChunk({Split::kTrain, 0, 0, chunk}, &read);
      ASSERT_EQ(made.labels, read.labels) << name;
      ASSERT_EQ(made.dense, read.dense) << name;
      ASSERT_EQ(made.ids, read.ids) << name;
      ASSERT_EQ(made_result->end_of_file, read_result->end_of_file) << chunk;
    }
  }
  EXPECT_LT(std::filesystem::file_size(Path("rows.tsv.gz")),
            std::filesystem::file_size(Path("rows.tsv")));
}

TEST_F(CriteoWriterTest, WithoutCloseLeavesNothingBehind) {
  Write("rows.tsv", "as it was");
  {
    const auto writer = CriteoWriter::Create(Path("rows.tsv"));
    ASSERT_TRUE(writer.ok()) << writer.status();
    EXPECT_TRUE(std::filesystem::exists(Partial(Path("rows.tsv"))));
  }
  EXPECT_FALSE(std::filesystem::exists(Partial(Path("rows.tsv"))));
  EXPECT_EQ(std::filesystem::file_size(Path("rows.tsv")), 9u);
}

TEST_F(CriteoWriterTest, RefusesAPathThatCannotBeWritten) {
  const Status status = CriteoWriter::Create(Path("no/such/folder")).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
}

TEST_F(CriteoWriterTest, ReportsAFullDisk) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  std::filesystem::create_symlink("/dev/full", Partial(Path("rows.tsv")));
  auto writer = CriteoWriter::Create(Path("rows.tsv"));
  ASSERT_TRUE(writer.ok()) << writer.status();
  const Status status = WriteRows(SyntheticSet(SyntheticShape(100, 0)), **writer);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_FALSE(std::filesystem::exists(Path("rows.tsv")));
}

}  // namespace
}  // namespace weir::data
