#include "tools/bench/peer_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tools/bench/temporary_folder.h"

namespace weir::bench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ParsePeerResult, HasThePeersNameAndItsValues) {
  const auto result =
      ParsePeerResult("a.py", R"({"peer": "PyTorch 2.14.1", "values": {"threads_1": 12.5}})");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->peer, "PyTorch 2.14.1");
  EXPECT_EQ(result->values, (std::map<std::string, double>{{"threads_1", 12.5}}));
}

TEST(ParsePeerResult, APeerThatCannotRunSaysWhy) {
  const auto result =
      ParsePeerResult("a.py", R"({"peer": "FBGEMM", "failure": "No module named 'fbgemm_gpu'"})");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().message(), "FBGEMM: No module named 'fbgemm_gpu'");
}

TEST(ParsePeerResult, RefusesWhatIsNoResultAndQuotesIt) {
  for (const char* line :
       {"", "warning: no GPU", "{", "[]", "7", "{}", R"({"peer": "PyTorch"})", R"({"values": {}})",
        R"({"peer": 2, "values": {}})", R"({"peer": "a", "values": 2})",
        R"({"peer": "a", "values": {"threads_1": "fast"}})", R"({"peer": "a", "failure": {}})"}) {
    const auto result = ParsePeerResult("bench/peers/a.py", line);
    ASSERT_FALSE(result.ok()) << line;
    EXPECT_THAT(result.status().message(),
                AllOf(HasSubstr("tools/bench/peers/a.py"), HasSubstr(line)));
  }
}

TEST(CheckPeers, WantsAnInterpreterInTheFolder) {
  const auto folder = TemporaryFolder::Make();
  ASSERT_TRUE(folder.ok());
  const std::string python = folder->File("bin/python");
  std::filesystem::create_directory(folder->File("bin"));
  EXPECT_THAT(CheckPeers(folder->path()).message(),
              HasSubstr("tools/install_peers " + folder->path()));
  std::ofstream(python) << "#!/bin/sh\n";
  EXPECT_FALSE(CheckPeers(folder->path()).ok()) << "nobody may run it";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  EXPECT_TRUE(CheckPeers(folder->path()).ok());
}

}  // namespace
}  // namespace weir::bench
