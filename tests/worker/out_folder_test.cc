#include "worker/out_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "common/base/strings.h"
#include "common/config/load_config.h"
#include "tests/worker/worker_test_support.h"

namespace weir::worker {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutFolderTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(path_); }
  void TearDown() override { fs::remove_all(path_); }

  // A process that takes part in the run and writes something of it.
  void Work(uint64_t run) {
    auto folder = OutFolder::Claim(path_);
    ASSERT_TRUE(folder.ok()) << folder.status();
    auto log = (*folder)->Begin(config_, run);
    ASSERT_TRUE(log.ok()) << log.status();
    ASSERT_TRUE((*log)->WriteTest(1, {}).ok());
    std::ofstream(path_ + "/summary.json") << "result of " << run;
  }
  std::string Text(const std::string& name) const {
    std::ifstream file(path_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  int64_t LineCount() const {
    const std::string text = Text("metrics.jsonl");
    return std::ranges::count(text, '\n');
  }

  const v1::Config config_ = TinyRun();
  const std::string path_ = StrCat(testing::TempDir(), "/out_folder_test_", getpid());
};

TEST_F(OutFolderTest, WhoDoesNotBeginChangesNothing) {
  Work(1);
  {
    auto folder = OutFolder::Claim(path_);
    ASSERT_TRUE(folder.ok()) << folder.status();
    EXPECT_THAT(OutFolder::Claim(path_).status().message(), HasSubstr("another run writes to"));
  }
  EXPECT_EQ(Text("summary.json"), "result of 1");
  EXPECT_EQ(LineCount(), 1);
}

TEST_F(OutFolderTest, AnotherRunsResultsAreTakenAwayOnceThisOneBegins) {
  Work(1);
  auto folder = OutFolder::Claim(path_);
  ASSERT_TRUE(folder.ok()) << folder.status();
  const auto log = (*folder)->Begin(config_, 2);
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ((*log)->evaluations(), 0u);
  EXPECT_FALSE(fs::exists(path_ + "/summary.json"));
  EXPECT_EQ(LineCount(), 0);
}

TEST_F(OutFolderTest, WhoComesBackGoesOnWithTheMetricsOfItsRun) {
  Work(7);
  Work(7);
  EXPECT_EQ(LineCount(), 2);
}

TEST_F(OutFolderTest, EmbeddedRunsAreAllOthers) {
  Work(0);
  Work(0);
  EXPECT_EQ(LineCount(), 1);
}

TEST_F(OutFolderTest, TheConfigThatIsWrittenDownCanBeRunAgain) {
  Work(7);
  const auto read = config::LoadConfig({path_ + "/config.textproto"}, "");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(config::ToText(*read), config::ToText(config_));
}

TEST_F(OutFolderTest, SaysWhatCannotBeWrittenBeforeAnythingElse) {
  EXPECT_THAT(OutFolder::Claim("/proc/nowhere").status().message(),
              HasSubstr("--out: cannot make /proc/nowhere"));
  fs::create_directories(path_ + "/metrics.jsonl");
  EXPECT_THAT(OutFolder::Claim(path_).status().message(),
              HasSubstr(StrCat("cannot write ", path_, "/metrics.jsonl: Is a directory")));
}

}  // namespace
}  // namespace weir::worker
