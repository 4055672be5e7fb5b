#include "tools/local/options.h"

#include <gmock/gmock.h>

#include "common/base/strings.h"
#include "tests/tools/local_support.h"
#include "tools/local/commands.h"
#include "tools/local/ports.h"

namespace weir::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class LocalOptionsTest : public LocalTest {
 protected:
  LocalOptionsTest() {
    for (const char* name : {"weir-server", "weir-worker"}) {
      WriteFile(Path(name), "");
      std::filesystem::permissions(Path(name), std::filesystem::perms::owner_all);
    }
    options_.config_files = {"a.textproto"};
    options_.out_directory = "out";
    options_.binary_directory = directory();
  }

  LocalOptions options_;
};

TEST_F(LocalOptionsTest, AreFineByDefault) { EXPECT_THAT(OptionMistakes(options_), IsEmpty()); }

TEST_F(LocalOptionsTest, HaveAllMistakesToldAtOnce) {
  LocalOptions options;
  options.server_count = -1;
  options.trainer_count = 0;
  options.thread_count = 0;
  options.stage_count = 17;
  options.device = "gpu";
  options.base_port = 70000;
  options.most_restarts = -1;
  options.kill_after = "server-1:soon";
  options.binary_directory = "/absent";
  EXPECT_THAT(
      OptionMistakes(options),
      ElementsAre(HasSubstr("--config"), HasSubstr("--servers=-1"), HasSubstr("--trainers=0"),
                  HasSubstr("--threads=0"), HasSubstr("--stages=17"),
                  HasSubstr("--base_port=70000"), HasSubstr("--device: 'gpu' is no device"),
                  HasSubstr("--restart=-1"), HasSubstr("--kill_after: \"server-1:soon\""),
                  HasSubstr("/absent/weir-server"), HasSubstr("/absent/weir-worker")));
}

TEST_F(LocalOptionsTest, AllowOneTrainerWithoutServers) {
  options_.server_count = 0;
  options_.trainer_count = 1;
  std::filesystem::remove(Path("weir-server"));
  EXPECT_THAT(OptionMistakes(options_), IsEmpty());
  options_.trainer_count = 2;
  EXPECT_THAT(OptionMistakes(options_), ElementsAre(HasSubstr("--trainers=2")));
  options_.trainer_count = 1;
  options_.stage_count = 3;
  EXPECT_THAT(OptionMistakes(options_), ElementsAre(HasSubstr("--stages: without servers")));
}

TEST_F(LocalOptionsTest, HaveKeysOrNoneOnPurpose) {
  options_.insecure = true;
  EXPECT_THAT(OptionMistakes(options_), IsEmpty());
  options_.keys_directory = "keys";
  EXPECT_THAT(OptionMistakes(options_), ElementsAre(HasSubstr("--insecure: of a run without")));
  options_.server_count = 0;
  options_.trainer_count = 1;
  EXPECT_THAT(OptionMistakes(options_),
              testing::IsSupersetOf({HasSubstr("--keys: without servers"),
                                     HasSubstr("--insecure: without servers")}));
}

TEST_F(LocalOptionsTest, BoundPortsAndDevices) {
  options_.base_port = 65535;
  EXPECT_THAT(OptionMistakes(options_), ElementsAre(HasSubstr("port 65536")));
  options_.base_port = 65534;
  EXPECT_THAT(OptionMistakes(options_), IsEmpty());
  for (const char* device : {"", "cuda", "CPU"}) {
    options_.device = device;
    EXPECT_THAT(OptionMistakes(options_), SizeIs(1)) << device;
  }
}

TEST_F(LocalOptionsTest, NameADeviceForAllTrainersOrForEach) {
  options_.trainer_count = 2;
  EXPECT_EQ(DeviceOf(options_, 1), "cpu");
  options_.device = "cuda:0";
  EXPECT_THAT(OptionMistakes(options_), IsEmpty());
  EXPECT_EQ(DeviceOf(options_, 1), "cuda:0");
  options_.devices = {"cuda:1", "cpu"};
  EXPECT_THAT(OptionMistakes(options_), ElementsAre(HasSubstr("--device and --devices both")));
  options_.device.reset();
  options_.device_memory = "20GiB";
  EXPECT_THAT(OptionMistakes(options_), IsEmpty());
  EXPECT_EQ(DeviceOf(options_, 1), "cpu");
  options_.devices = {"cuda:1"};
  EXPECT_THAT(OptionMistakes(options_),
              ElementsAre(HasSubstr("--devices: names 1, and --trainers=2")));
  options_.devices = {"cuda:1", "cpu", "CPU"};
  options_.device_memory = "20";
  EXPECT_THAT(OptionMistakes(options_),
              ElementsAre(HasSubstr("--devices: 'CPU' is no device"),
                          HasSubstr("--devices: names 3"), HasSubstr("--device_memory: '20'")));
}

TEST_F(LocalOptionsTest, SayOnceWhichDevicesCannotBeHad) {
  const auto check = [](const device::DeviceName& name) {
    return name.is_cuda && name.number > 0 ? FailedPrecondition(StrCat("no cuda:", name.number))
                                           : OkStatus();
  };
  options_.trainer_count = 4;
  EXPECT_THAT(OptionMistakes(options_, check), IsEmpty());
  options_.device = "cuda:3";
  EXPECT_THAT(OptionMistakes(options_, check), ElementsAre("--device: no cuda:3"));
  options_.device.reset();
  options_.devices = {"cuda:2", "cpu", "cuda:1", "cuda:2"};
  EXPECT_THAT(OptionMistakes(options_, check),
              ElementsAre("--devices: no cuda:2", "--devices: no cuda:1"));
}

TEST_F(LocalOptionsTest, AskForMemoryOfCardsAlone) {
  options_.device_memory = "20GiB";
  for (const bool is_said : {false, true}) {
    if (is_said) options_.device = "cpu";
    EXPECT_THAT(OptionMistakes(options_), ElementsAre(HasSubstr("--device_memory: of a card")));
  }
}

TEST(DefaultOut, NamesTheConfigs) {
  EXPECT_EQ(DefaultOut({"configs/runs/adult.textproto"}), "out/adult");
  EXPECT_EQ(DefaultOut({"a/b.textproto", "c.textproto"}), "out/b-c");
  EXPECT_EQ(DefaultOut({}), "");
}

TEST_F(LocalOptionsTest, RefuseASavedModelAsOutput) {
  options_.out_directory = directory();
  WriteFile(Path("manifest.textproto"), "id: 1");
  EXPECT_THAT(OptionMistakes(options_), ElementsAre(HasSubstr("holds a saved model")));
}

TEST_F(LocalOptionsTest, RefuseAFileAsOutput) {
  options_.out_directory = Path("weir-server");
  EXPECT_THAT(OptionMistakes(options_), ElementsAre(HasSubstr("not a directory")));
}

TEST_F(LocalOptionsTest, BecomeACommandForEachProcess) {
  options_.thread_count = 3;
  const auto commands = RunCommands(options_, {"tcp://h:1", "tcp://h:2"}, "");
  ASSERT_THAT(commands, SizeIs(4));
  EXPECT_EQ(commands[1].name, "server-1");
  EXPECT_EQ(commands[1].role, Role::kServer);
  EXPECT_EQ(commands[1].log_path, "out/logs/server-1.log");
  EXPECT_THAT(commands[1].arguments,
              ElementsAre(Path("weir-server"), "--config=out/config.textproto",
                          "--servers=tcp://h:1,tcp://h:2", "--shard=1"));
  EXPECT_EQ(commands[2].name, "trainer-0");
  EXPECT_EQ(commands[2].role, Role::kWorker);
  EXPECT_THAT(commands[2].arguments,
              ElementsAre(Path("weir-worker"), "--config=out/config.textproto",
                          "--servers=tcp://h:1,tcp://h:2", "--trainer=0", "--threads=3",
                          "--device=cpu", "--out=out/trainer-0"));
}

TEST_F(LocalOptionsTest, GiveEachServerAFolderOfItsOwnForItsLog) {
  options_.data_directory = "data";
  const auto commands = RunCommands(options_, {"tcp://h:1", "tcp://h:2"}, "");
  EXPECT_THAT(commands[0].arguments, testing::Contains("--data_dir=data/server-0"));
  EXPECT_THAT(commands[1].arguments, testing::Contains("--data_dir=data/server-1"));
  EXPECT_THAT(commands[2].arguments, testing::Not(testing::Contains(HasSubstr("--data_dir"))));
}

TEST_F(LocalOptionsTest, BecomeOneWorkerWithoutServersWhenEmbedded) {
  options_.server_count = 0;
  options_.trainer_count = 1;
  const auto commands = RunCommands(options_, {}, "");
  ASSERT_THAT(commands, SizeIs(1));
  EXPECT_THAT(commands[0].arguments,
              ElementsAre(Path("weir-worker"), "--config=out/config.textproto", "--trainer=0",
                          "--threads=1", "--device=cpu", "--out=out/trainer-0"));
}

}  // namespace
}  // namespace weir::tools
