#include "worker/data/file_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "tests/worker/data/data_files.h"

namespace weir::data {
namespace {

using testing::StartsWith;

class FileKind : public DataFilesTest {
 protected:
  FileKind() { EXPECT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0); }
};

// Training reads a file for its columns, for what it learns, and in every epoch.
TEST_F(FileKind, NamesWhatCanBeReadOnceOnly) {
  const auto problem = [](const std::string& path) {
    return CheckIsFile(path, Passes::kMany).message();
  };
  EXPECT_THAT(problem(Path("fifo")),
              StartsWith(Path("fifo") + " is a pipe, which gives its rows once; training reads a "
                                        "file several times: write them to a file"));
  EXPECT_THAT(problem("/dev/null"), StartsWith("/dev/null is a device, which"));
  EXPECT_THAT(problem("-"), StartsWith("- would be standard input, which"));
  EXPECT_TRUE(CheckIsFile(Write("f", "x\n"), Passes::kMany).ok());
}

TEST_F(FileKind, OnePassIsEnoughForAPipeAndStandardInput) {
  for (const std::string& path : {Path("fifo"), std::string("-"), Write("f", "x\n")}) {
    EXPECT_TRUE(CheckIsFile(path, Passes::kOne).ok()) << path;
    EXPECT_EQ(IsStream(path, Passes::kOne), path != Path("f")) << path;
    EXPECT_FALSE(IsStream(path, Passes::kMany)) << path;
  }
  EXPECT_EQ(NameOf("-", Passes::kOne), "standard input");
  EXPECT_EQ(NameOf("-", Passes::kMany), "-");
  EXPECT_EQ(CheckIsFile(directory(), Passes::kOne).code(), StatusCode::kNotFound);
  EXPECT_EQ(CheckIsFile(Path("missing"), Passes::kOne).code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace weir::data
