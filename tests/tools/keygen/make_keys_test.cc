#include "tools/keygen/make_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "common/base/directory_lock.h"
#include "common/keys/key_folder.h"
#include "tests/support/temp_folder.h"

namespace weir::tools {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class MakeKeysTest : public testing::Test {
 protected:
  Status Make(const KeysToMake& wanted) { return MakeKeys(path_, wanted, out_); }
  transport::KeyList::Keys List() { return keys::ReadList(path_).value(); }
  bool HasOwn(const std::string& name) { return keys::ReadOwn(path_, name).ok(); }

  const test::TempFolder folder_;
  const std::string path_ = folder_.path() + "/keys";
  std::ostringstream out_;
};

TEST_F(MakeKeysTest, EachProcessHasOne) {
  ASSERT_TRUE(Make({.servers = 2, .trainers = 2, .stages = 2}).ok());
  EXPECT_THAT(List(), SizeIs(6));
  for (const char* name : {"server 0", "server 1", "trainer 0", "trainer 0 stage 1", "trainer 1",
                           "trainer 1 stage 1"}) {
    EXPECT_TRUE(HasOwn(name)) << name;
  }
  EXPECT_THAT(out_.str(), HasSubstr("made 6 keys"));
}

TEST_F(MakeKeysTest, OneProcessAtATime) {
  ASSERT_TRUE(Make({.servers = 1, .trainers = 1}).ok());
  const auto before = List();
  {
    const auto other = DirectoryLock::Take(path_);
    const Status refused = Make({.servers = 2, .replace = {"server 0"}});
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(refused.message(), HasSubstr("another run writes to " + path_));
  }
  EXPECT_EQ(List(), before);
  EXPECT_TRUE(HasOwn("server 0"));
  EXPECT_TRUE(Make({.servers = 2}).ok());
}

TEST_F(MakeKeysTest, WhoHasOneKeepsIt) {
  ASSERT_TRUE(Make({.servers = 1, .trainers = 1}).ok());
  const auto before = List();
  std::filesystem::remove(keys::SecretPath(path_, "trainer 0"));  // where it belongs
  ASSERT_TRUE(Make({.servers = 2, .trainers = 1}).ok());
  EXPECT_EQ(List().at("server 0"), before.at("server 0"));
  EXPECT_EQ(List().at("trainer 0"), before.at("trainer 0"));
  EXPECT_THAT(List(), SizeIs(3));
  EXPECT_FALSE(std::filesystem::exists(keys::SecretPath(path_, "trainer 0")));
}

// Others have the list that is gone.
TEST_F(MakeKeysTest, WhoHasASecretKeepsItWhereTheListIsGone) {
  ASSERT_TRUE(Make({.servers = 1, .trainers = 1}).ok());
  const auto before = List();
  std::filesystem::remove(keys::ListPath(path_));
  ASSERT_TRUE(Make({.servers = 1, .trainers = 1}).ok());
  EXPECT_EQ(List(), before);
  std::ofstream(keys::ListPath(path_)) << "";
  ASSERT_TRUE(Make({.servers = 2, .trainers = 1, .mends = true}).ok());
  EXPECT_EQ(List().at("server 0"), before.at("server 0"));
  EXPECT_THAT(List(), SizeIs(3));
}

TEST_F(MakeKeysTest, ReplacesAndRemovesWhoIsNamed) {
  ASSERT_TRUE(Make({.servers = 1, .trainers = 2}).ok());
  const auto before = List();
  ASSERT_TRUE(Make({.replace = {"trainer 0"}, .remove = {"trainer 1"}}).ok());
  EXPECT_NE(List().at("trainer 0"), before.at("trainer 0"));
  EXPECT_TRUE(HasOwn("trainer 0"));
  EXPECT_EQ(List().at("server 0"), before.at("server 0"));
  EXPECT_FALSE(List().contains("trainer 1"));
  EXPECT_FALSE(std::filesystem::exists(keys::SecretPath(path_, "trainer 1")));
}

TEST_F(MakeKeysTest, WhoIsRemovedAndWantedGetsAnother) {
  ASSERT_TRUE(Make({.servers = 1, .trainers = 1}).ok());
  const auto before = List();
  ASSERT_TRUE(Make({.servers = 1, .remove = {"server 0"}}).ok());
  EXPECT_NE(List().at("server 0"), before.at("server 0"));
  EXPECT_TRUE(HasOwn("server 0"));
}

TEST_F(MakeKeysTest, WhereAllSecretsBelongWhatIsMissingIsMadeAnew) {
  ASSERT_TRUE(Make({.servers = 1, .trainers = 1}).ok());
  const auto before = List();
  std::filesystem::remove(keys::SecretPath(path_, "trainer 0"));
  ASSERT_TRUE(Make({.servers = 1, .trainers = 1, .mends = true}).ok());
  EXPECT_NE(List().at("trainer 0"), before.at("trainer 0"));
  EXPECT_EQ(List().at("server 0"), before.at("server 0"));
  EXPECT_TRUE(HasOwn("trainer 0"));
}

TEST_F(MakeKeysTest, WritesNothingWhereNothingIsToBeMade) {
  ASSERT_TRUE(Make({.servers = 1}).ok());
  const auto written = std::filesystem::last_write_time(keys::ListPath(path_));
  std::filesystem::last_write_time(keys::ListPath(path_), written - std::chrono::hours(1));
  ASSERT_TRUE(Make({.servers = 1}).ok());
  EXPECT_EQ(std::filesystem::last_write_time(keys::ListPath(path_)),
            written - std::chrono::hours(1));
}

TEST_F(MakeKeysTest, NamesNobodyThatHasNone) {
  ASSERT_TRUE(Make({.servers = 1}).ok());
  const Status status = Make({.replace = {"server 7"}, .remove = {"trainer 1", "server 0"}});
  EXPECT_THAT(status.message(), HasSubstr("no key of 'server 7'"));
  EXPECT_THAT(status.message(), HasSubstr("no key of 'trainer 1'"));
  EXPECT_TRUE(HasOwn("server 0")) << "nothing is done of what is half wrong";
}

TEST_F(MakeKeysTest, LeavesAListAloneThatItCannotRead) {
  ASSERT_TRUE(Make({.servers = 1}).ok());
  ASSERT_TRUE(keys::WriteList(path_, {{"nobody", "nothing"}}).ok());
  EXPECT_EQ(Make({.servers = 2}).code(), StatusCode::kInvalidConfig);
  EXPECT_FALSE(std::filesystem::exists(keys::SecretPath(path_, "server 1")));
}

}  // namespace
}  // namespace weir::tools
