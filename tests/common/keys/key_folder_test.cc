#include "common/keys/key_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "common/base/strings.h"
#include "common/keys/run_keys.h"
#include "tests/support/temp_folder.h"

namespace weir::keys {
namespace {

using testing::HasSubstr;
using transport::KeyPair;

class KeyFolder : public testing::Test {
 protected:
  void WriteText(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
    chmod(path.c_str(), 0600);
  }
  std::string FaultOfList(const std::string& text) {
    WriteText(ListPath(path()), text);
    return ReadList(path()).status().message();
  }
  const std::string& path() const { return folder_.path(); }

  const test::TempFolder folder_;
  const KeyPair server_ = transport::MakeKeyPair().value(),
                trainer_ = transport::MakeKeyPair().value();
};

TEST_F(KeyFolder, GivesBackWhatWasWritten) {
  const std::string name = WorkerName(3, 1);
  ASSERT_TRUE(
      WriteList(path(), {{"server 0", server_.public_key}, {name, trainer_.public_key}}).ok());
  ASSERT_TRUE(WritePair(path(), name, trainer_).ok());
  const auto own = ReadOwn(path(), name);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->pair.secret_key, trainer_.secret_key);
  EXPECT_EQ(own->pair.public_key, trainer_.public_key);
  EXPECT_EQ(own->list->KeyOf("server 0"), server_.public_key);
  EXPECT_EQ(own->list->NameOf(trainer_.public_key), "trainer 3 stage 1");
}

TEST_F(KeyFolder, NamesFilesByWhoseTheyAre) {
  EXPECT_EQ(SecretPath("keys", WorkerName(3, 0)), "keys/trainer-3.key");
  EXPECT_EQ(SecretPath("keys", WorkerName(3, 2)), "keys/trainer-3-stage-2.key");
  EXPECT_EQ(SecretPath("keys", ServerName(1)), "keys/server-1.key");
}

TEST_F(KeyFolder, SecretsAreForTheirOwnerAlone) {
  const mode_t before = umask(0);
  ASSERT_TRUE(WritePair(path(), "server 0", server_).ok());
  umask(before);
  struct stat found = {};
  ASSERT_EQ(stat(SecretPath(path(), "server 0").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST_F(KeyFolder, RefusesASecretThatOthersMayRead) {
  ASSERT_TRUE(WritePair(path(), "server 0", server_).ok());
  for (const mode_t mode : {0640u, 0604u, 0620u, 0666u, 0601u}) {
    ASSERT_EQ(chmod(SecretPath(path(), "server 0").c_str(), mode), 0);
    const Status status = ReadPair(path(), "server 0").status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidConfig) << mode;
    EXPECT_THAT(status.message(), HasSubstr("chmod 600")) << mode;
  }
}

TEST_F(KeyFolder, TellsAllThatIsWrongWithAList) {
  const std::string& key = server_.public_key;
  const std::string fault = FaultOfList(
      StrCat("# for people\n\nserver 0: ", key, "\nserver 01: ", trainer_.public_key,
             "\ntrainer 1: short\nserver 0: ", trainer_.public_key, "\ntrainer 2: ", key, "\n"));
  EXPECT_THAT(fault, HasSubstr("public.keys:4: 'server 01' is nobody"));
  EXPECT_THAT(fault, HasSubstr("public.keys:5: of trainer 1 it has no key"));
  EXPECT_THAT(fault, HasSubstr("public.keys:6: server 0 is there twice"));
  EXPECT_THAT(fault, HasSubstr("public.keys:7: trainer 2 has the key of server 0"));
}

TEST_F(KeyFolder, RefusesWhatIsNoList) {
  for (const std::string text :
       {"nonsense", "server 0", "server 0:", ": ", "server 0: ", "trainer 1 stage 0: x",
        "server -1: x", "trainer 1234567890123: x", "server 1 stage 1: x", "trainer  1: x",
        "trainer 1 step 1: x", "trainer: x", "trainer 1 stage: x", "trainer 1 stage 01: x",
        "\x01\x02: \x03"}) {
    EXPECT_THAT(FaultOfList(text), HasSubstr("public.keys:1: ")) << text;
  }
  EXPECT_TRUE(ReadList(path() + "/nothing").status().message().starts_with("cannot read "));
}

TEST_F(KeyFolder, RefusesASecretThatIsNone) {
  const std::string file = SecretPath(path(), "server 0");
  for (const std::string text : {"", "server 0: short\n", "server 0\n"}) {
    WriteText(file, text);
    EXPECT_THAT(ReadPair(path(), "server 0").status().message(), HasSubstr(file)) << text;
  }
  WriteText(file, StrCat("server 1: ", server_.secret_key, "\n"));
  EXPECT_THAT(ReadPair(path(), "server 0").status().message(), HasSubstr("server 0: KEY"));
  EXPECT_THAT(ReadPair(path(), "server 7").status().message(), HasSubstr("server-7.key"));
}

TEST_F(KeyFolder, OnesOwnKeyIsOnTheList) {
  ASSERT_TRUE(WritePair(path(), "server 0", server_).ok());
  ASSERT_TRUE(WriteList(path(), {{"trainer 0", trainer_.public_key}}).ok());
  EXPECT_THAT(ReadOwn(path(), "server 0").status().message(), HasSubstr("no key of server 0"));
  ASSERT_TRUE(WriteList(path(), {{"server 0", trainer_.public_key}}).ok());
  EXPECT_THAT(ReadOwn(path(), "server 0").status().message(), HasSubstr("another key of server 0"));
}

TEST_F(KeyFolder, AProcessReadsTheListAgainAndNotOneThatIsNone) {
  std::vector<std::string> problems;
  ASSERT_TRUE(WritePair(path(), "server 0", server_).ok());
  ASSERT_TRUE(WriteList(path(), {{"server 0", server_.public_key}}).ok());
  const RunKeys keys = RunKeys::Read({path()}, "server 0", &problems);
  ASSERT_TRUE(keys.security().has_value()) << StrJoin(problems, " ");
  const auto list = keys.security()->peers;
  ASSERT_TRUE(
      WriteList(path(), {{"server 0", server_.public_key}, {"trainer 0", trainer_.public_key}})
          .ok());
  EXPECT_EQ(list->NameOf(trainer_.public_key), "");
  keys.reader()();
  EXPECT_EQ(list->NameOf(trainer_.public_key), "trainer 0");
  for (const std::string& unusable :
       {std::string("nonsense"), std::string(), StrCat("trainer 0: ", trainer_.public_key, "\n")}) {
    WriteText(ListPath(path()), unusable);  // or it would cut itself off, and all others
    keys.reader()();
    EXPECT_EQ(list->NameOf(trainer_.public_key), "trainer 0");
    EXPECT_EQ(list->NameOf(server_.public_key), "server 0");
  }
}

TEST_F(KeyFolder, AProcessWithoutKeysHasNone) {
  std::vector<std::string> problems;
  const RunKeys none = RunKeys::Read({}, "server 0", &problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_FALSE(none.security().has_value());
  EXPECT_FALSE(none.reader());
  EXPECT_FALSE(RunKeys::Read({path()}, "server 0", &problems).security().has_value());
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0], HasSubstr("--keys: cannot read "));
}

TEST_F(KeyFolder, WhereOtherMachinesReachAProcessItHasAKey) {
  const auto problems_of = [](const KeyFlags& flags) {
    std::vector<std::string> problems;
    RunKeys::Read(flags, "server 0", &problems);
    return problems;
  };
  const std::vector<std::string> local = {"tcp://127.0.0.1:7100", "tcp://127.0.0.2:0", ""};
  const std::vector<std::string> exposed = {"tcp://127.0.0.1:7100", "tcp://*:7100"};
  EXPECT_THAT(problems_of({.folder = "", .sockets = local}), testing::IsEmpty());
  EXPECT_THAT(problems_of({.folder = "", .insecure = true, .sockets = exposed}),
              testing::IsEmpty());
  EXPECT_THAT(
      problems_of({.folder = "", .sockets = exposed}),
      testing::ElementsAre(testing::AllOf(HasSubstr("other machines reach tcp://*:7100"),
                                          HasSubstr("weir-keygen"), HasSubstr("--insecure"))));
  ASSERT_TRUE(WritePair(path(), "server 0", server_).ok());
  ASSERT_TRUE(WriteList(path(), {{"server 0", server_.public_key}}).ok());
  EXPECT_THAT(problems_of({.folder = path(), .sockets = exposed}), testing::IsEmpty());
  EXPECT_THAT(problems_of({.folder = path(), .server_count = 2}),
              testing::ElementsAre(HasSubstr(ListPath(path()) + " has no key of server 1")));
  EXPECT_THAT(problems_of({.folder = path(), .insecure = true, .sockets = exposed}),
              testing::ElementsAre(HasSubstr("--insecure: of a run without --keys")));
}

}  // namespace
}  // namespace weir::keys
