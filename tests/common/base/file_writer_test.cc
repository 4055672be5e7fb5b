#include "common/base/file_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "common/base/strings.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

class ReplaceFileTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Text() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  int64_t FileCount() const { return std::distance(fs::directory_iterator(folder_), {}); }

  const std::string folder_ = StrCat(testing::TempDir(), "/file_writer_test_", getpid());
  const std::string path_ = folder_ + "/summary.json";
};

TEST_F(ReplaceFileTest, PutsTheNewTextInPlaceOfTheOld) {
  ASSERT_TRUE(ReplaceFile(path_, "a longer text").ok());
  ASSERT_TRUE(ReplaceFile(path_, "short").ok());
  EXPECT_EQ(Text(), "short");
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(ReplaceFileTest, LeavesNothingAsideWhereItCannotBePut) {
  fs::create_directory(path_);
  const Status status = ReplaceFile(path_, "text");
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), testing::HasSubstr(StrCat("cannot write ", path_)));
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(ReplaceFileTest, ALinkStaysAndTheFileThatItNamesHasTheText) {
  fs::create_directory(folder_ + "/disk");
  fs::create_symlink("disk/link", path_);
  fs::create_symlink("summary.json", folder_ + "/disk/link");
  for (const std::string text : {"first", "second"}) {
    ASSERT_TRUE(ReplaceFile(path_, text).ok());
    EXPECT_EQ(Text(), text);
  }
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ + "/disk/summary.json")));
  EXPECT_EQ(FileCount(), 2);
}

TEST_F(ReplaceFileTest, LinksWithoutEndAreAnError) {
  fs::create_symlink("summary.json", path_);
  EXPECT_THAT(ReplaceFile(path_, "text").message(), testing::HasSubstr("symbolic links"));
}

TEST_F(ReplaceFileTest, TheUmaskSaysWhoMayReadAndWriteIt) {
  for (const mode_t mask : {0002, 0077}) {
    fs::remove(path_);
    const mode_t before = umask(mask);
    const Status status = ReplaceFile(path_, "text");
    umask(before);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(static_cast<mode_t>(fs::status(path_).permissions()), 0666 & ~mask);
  }
}

// As under `ulimit -f`, or a quota.
TEST_F(ReplaceFileTest, AFileThatMayNotGrowLeavesTheOldOneAndNothingAside) {
  ASSERT_TRUE(ReplaceFile(path_, "old").ok());
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {.rlim_cur = 1000, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = ReplaceFile(path_, std::string(5000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(status.message(), testing::HasSubstr("File too large"));
  EXPECT_EQ(Text(), "old");
  EXPECT_EQ(FileCount(), 1);
}

}  // namespace
}  // namespace weir
