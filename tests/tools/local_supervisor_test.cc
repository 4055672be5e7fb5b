#include "tools/local/supervisor.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cerrno>

#include "common/base/exit_code.h"
#include "tests/tools/local_support.h"

namespace weir::tools {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSleep = "exec sleep 600";
constexpr const char* kIgnoreEverything =
    "trap '' TERM INT; echo > $0/ignoring; while :; do sleep 600; done";
// The stand-in's parent is the test, which runs the supervisor.
constexpr const char* kInterruptParent = "kill -INT $PPID; exec sleep 600";
constexpr const char* kWaitUntilOtherIgnores = "while ! [ -e $0/ignoring ]; do sleep 0.01; done; ";

// The supervisor has noted the end of the other process: its number is free again.
std::string WaitForTheEndOf(const std::string& name) {
  const std::string file = "$0/" + name + ".pid";
  return "while ! [ -s " + file + " ]; do sleep 0.01; done; while kill -0 $(cat " + file +
         ") 2>/dev/null; do sleep 0.01; done; ";
}

class LocalSupervisor : public LocalTest {
 protected:
  Status Run(const std::vector<ChildCommand>& commands) {
    Supervisor supervisor(
        options_, [this] { ++tick_count_; },
        [this](const std::string& line) {
          notices_.push_back(line);
          WriteFile(Path("noticed"), line);
        });
    return supervisor.Run(commands);
  }

  // Asks the system: a process that was stopped at once had no time to leave its number.
  static void ExpectNobodyIsLeft() {
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }

  SupervisorOptions options_{
      .grace_ms = 60000, .finish_timeout_ms = 60000, .late_timeout_ms = 60000, .tick_ms = 10};
  int tick_count_ = 0;
  std::vector<std::string> notices_;
};

TEST_F(LocalSupervisor, EndsWellWhenAllDo) {
  const Status ending =
      Run({Shell("server-0", "sleep 0.1", Role::kServer), Shell("trainer-0", "")});
  EXPECT_EQ(ExitCode(ending), 0);
  EXPECT_EQ(ending.message(), "");
  EXPECT_GT(tick_count_, 0);
  EXPECT_THAT(notices_, testing::IsEmpty());
}

TEST_F(LocalSupervisor, TellsWhoFailedAndWhyAndStopsTheOthers) {
  const Status ending = Run({Shell("server-0", kSleep, Role::kServer),
                             Shell("trainer-0",
                                   "while ! [ -s $0/server-0.pid ]; do sleep 0.01; done;"
                                   "echo noise; echo 'error: the disk is full'; exit 7")});
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_EQ(ending.message(), "trainer-0 exited with code 7; from its log " +
                                  Path("trainer-0.log") + ":\n    error: the disk is full");
  ExpectNobodyIsLeft();
}

TEST_F(LocalSupervisor, NamesTheSignalOfACrash) {
  const Status ending = Run({Shell("server-0", "kill -SEGV $$", Role::kServer)});
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_EQ(ending.message(),
            "server-0 was killed by signal 11 (Segmentation fault) and wrote nothing to its log " +
                Path("server-0.log"));
}

TEST_F(LocalSupervisor, StartsAgainWhatASignalHasEnded) {
  options_.restarts = {.most = 2, .servers_go_on = true};
  const std::string dies_twice =
      "echo life >> $0/lives; [ $(wc -l < $0/lives) = 3 ] || kill -KILL $$";
  const Status ending =
      Run({Shell("server-0", "while ! [ -e $0/done ]; do sleep 0.01; done", Role::kServer),
           Shell("trainer-0", dies_twice + "; echo > $0/done")});
  EXPECT_EQ(ExitCode(ending), 0) << ending.message();
  EXPECT_EQ(ReadFile(Path("lives")), "life\nlife\nlife\n");
  const std::string notice = "trainer-0 was killed by signal 9 (Killed); starting it again ";
  EXPECT_THAT(notices_, testing::ElementsAre(notice + "(restart 1 of at most 2)",
                                             notice + "(restart 2 of at most 2)"));
}

TEST_F(LocalSupervisor, BlamesWhoIsKilledOnceTooOften) {
  options_.restarts = {.most = 1, .servers_go_on = true};
  const Status ending =
      Run({Shell("server-0", "kill -KILL $$", Role::kServer), Shell("trainer-0", kSleep)});
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_THAT(ending.message(),
              HasSubstr("server-0 was killed by signal 9 (Killed), after 1 restart"));
  ExpectNobodyIsLeft();
}

TEST_F(LocalSupervisor, DoesNotStartAgainWhatItKills) {
  options_.restarts = {.most = 3, .servers_go_on = true};
  options_.grace_ms = 50;
  const Status ending = Run({Shell("server-0", kIgnoreEverything, Role::kServer),
                             Shell("trainer-0", std::string(kWaitUntilOtherIgnores) + "exit 1")});
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_THAT(ending.message(), HasSubstr("trainer-0 exited with code 1"));
  EXPECT_THAT(notices_, Not(Contains(HasSubstr("starting it again"))));
  ExpectNobodyIsLeft();
}

TEST_F(LocalSupervisor, KillsWhomItIsToldTo) {
  options_.kill_after = "trainer-0:20,trainer-1:30";
  const Status ending = Run({Shell("server-0", kSleep, Role::kServer), Shell("trainer-0", kSleep)});
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_THAT(ending.message(), HasSubstr("trainer-0 was killed by signal 9 (Killed)"));
  EXPECT_THAT(notices_, Contains("--kill_after: trainer-0 is killed, 20 ms after the start"));
  ExpectNobodyIsLeft();
}

TEST_F(LocalSupervisor, SaysThatWhomItIsToKillHasEndedBefore) {
  options_.kill_after = "trainer-1:0";
  const Status ending = Run({Shell("trainer-0", "while ! [ -e $0/noticed ]; do sleep 0.01; done")});
  EXPECT_EQ(ExitCode(ending), 0) << ending.message();
  EXPECT_THAT(notices_, Contains("--kill_after: trainer-1 has ended before"));
}

TEST_F(LocalSupervisor, PassesOnThatAConfigWasRefused) {
  const Status ending = Run({Shell("trainer-0", "echo 'error: bad field'; exit 2")});
  EXPECT_EQ(ExitCode(ending), 2);
  EXPECT_THAT(ending.message(), HasSubstr("error: bad field"));
}

TEST_F(LocalSupervisor, BlamesTheFirstFailureNotWhatFollowsFromIt) {
  const Status ending = Run({Shell("server-0",
                                   "trap 'echo error: stopped; exit 9' TERM; echo > $0/ignoring;"
                                   "while :; do sleep 0.01; done",
                                   Role::kServer),
                             Shell("trainer-0", std::string(kWaitUntilOtherIgnores) + "exit 1")});
  EXPECT_THAT(ending.message(), HasSubstr("trainer-0 exited with code 1"));
  EXPECT_THAT(ending.message(), Not(HasSubstr("server-0")));
}

// It saves the model, which takes time, of a run that has ended well.
TEST_F(LocalSupervisor, LetsASaverFinishWhenAnotherTrainerFails) {
  std::vector<ChildCommand> commands = {
      Shell("server-0", WaitForTheEndOf("trainer-0"), Role::kServer),
      Shell("trainer-0", WaitForTheEndOf("trainer-1") + "sleep 0.2; echo done > $0/saved"),
      Shell("trainer-1", "echo 'error: the disk is full'; exit 1")};
  commands[1].must_end_well = true;
  const Status ending = Run(commands);
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_THAT(ending.message(), HasSubstr("trainer-1 exited with code 1"));
  EXPECT_EQ(ReadFile(Path("saved")), "done\n");
  EXPECT_THAT(notices_, Contains(HasSubstr("waiting for trainer-0, which is to save the model")));
}

TEST_F(LocalSupervisor, BlamesATrainerBeforeTheSaverThatFailsWithIt) {
  std::vector<ChildCommand> commands = {
      Shell("server-0", WaitForTheEndOf("trainer-1") + "echo 'error: run failed'; exit 1",
            Role::kServer),
      Shell("trainer-0", WaitForTheEndOf("trainer-1") + "exit 1"),
      Shell("trainer-1", "echo 'error: the disk is full'; exit 1")};
  commands[1].must_end_well = true;
  EXPECT_THAT(Run(commands).message(), HasSubstr("trainer-1 exited with code 1"));
}

TEST_F(LocalSupervisor, KillsWhoIgnoresTheRequestToStop) {
  options_.grace_ms = 50;
  const Status ending = Run({Shell("server-0", kIgnoreEverything, Role::kServer),
                             Shell("trainer-0", std::string(kWaitUntilOtherIgnores) + "exit 1")});
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_THAT(notices_, Contains(HasSubstr("killing server-0")));
  ExpectNobodyIsLeft();
}

TEST_F(LocalSupervisor, PassesAnInterruptOn) {
  const Status ending =
      Run({Shell("server-0",
                 "trap 'echo asked > $0/asked; exit 130' INT; echo > $0/ignoring;"
                 "while :; do sleep 0.01; done",
                 Role::kServer),
           Shell("trainer-0", std::string(kWaitUntilOtherIgnores) + kInterruptParent)});
  EXPECT_EQ(ExitCode(ending), 130);
  EXPECT_EQ(ReadFile(Path("asked")), "asked\n");
  EXPECT_THAT(notices_, Contains(HasSubstr("stopping server-0, trainer-0")));
  ExpectNobodyIsLeft();
}

TEST_F(LocalSupervisor, KillsWhoIgnoresAnInterrupt) {
  options_.grace_ms = 50;
  const Status ending =
      Run({Shell("server-0", kIgnoreEverything, Role::kServer),
           Shell("trainer-0", std::string(kWaitUntilOtherIgnores) + kInterruptParent)});
  EXPECT_EQ(ExitCode(ending), 130);
  ExpectNobodyIsLeft();
}

TEST_F(LocalSupervisor, KillsAtOnceAtTheSecondInterrupt) {
  options_.same_signal_ms = 0;
  const Status ending = Run({Shell("server-0", kIgnoreEverything, Role::kServer),
                             Shell("trainer-0", std::string(kWaitUntilOtherIgnores) +
                                                    "trap 'kill -INT $PPID' INT; kill -INT $PPID;"
                                                    "while :; do sleep 0.01; done")});
  EXPECT_EQ(ExitCode(ending), 130);
  EXPECT_THAT(notices_, Contains(HasSubstr("killing server-0")));
  ExpectNobodyIsLeft();
}

// As timeout(1) sends it, to a process and then to its whole group.
TEST_F(LocalSupervisor, TakesTheDoubleOfAnInterruptForTheFirst) {
  options_.same_signal_ms = 60000;
  const Status ending =
      Run({Shell("server-0",
                 "trap 'sleep 0.05; echo saved > $0/saved; exit 130' INT; echo > $0/ignoring;"
                 "while :; do sleep 0.01; done",
                 Role::kServer),
           Shell("trainer-0", std::string(kWaitUntilOtherIgnores) +
                                  "trap 'kill -INT $PPID; exit 130' INT; kill -INT $PPID;"
                                  "while :; do sleep 0.01; done")});
  EXPECT_EQ(ExitCode(ending), 130);
  EXPECT_EQ(ReadFile(Path("saved")), "saved\n");
  EXPECT_THAT(notices_, Not(Contains(HasSubstr("killing"))));
  ExpectNobodyIsLeft();
}

TEST_F(LocalSupervisor, StopsServersThatDoNotLeaveAfterTheTrainers) {
  options_.finish_timeout_ms = 50;
  const Status ending =
      Run({Shell("server-0", "", Role::kServer), Shell("server-1", kSleep, Role::kServer),
           Shell("trainer-0", WaitForTheEndOf("server-0"))});
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_THAT(ending.message(), HasSubstr("all trainers are done"));
  EXPECT_THAT(ending.message(), HasSubstr("server-1"));
  EXPECT_THAT(ending.message(), Not(HasSubstr("server-0")));
}

TEST_F(LocalSupervisor, StopsATrainerThatCameTooLate) {
  options_.late_timeout_ms = 50;
  const Status ending =
      Run({Shell("server-0",
                 WaitForTheEndOf("trainer-0") + "while ! [ -e $0/trapped ]; do sleep 0.01; done",
                 Role::kServer),
           Shell("trainer-0", ""),
           Shell("trainer-1",
                 "trap 'exit 130' TERM; echo > $0/trapped; while :; do sleep 0.01; done")});
  EXPECT_EQ(ExitCode(ending), 0) << ending.message();
  EXPECT_THAT(notices_, testing::ElementsAre(HasSubstr("stopping trainer-1")));
  ExpectNobodyIsLeft();
}

TEST_F(LocalSupervisor, KillsATrainerThatCameTooLateAndIgnoresTheRequestToStop) {
  options_.late_timeout_ms = options_.grace_ms = 50;
  const Status ending =
      Run({Shell("server-0", WaitForTheEndOf("trainer-0") + kWaitUntilOtherIgnores, Role::kServer),
           Shell("trainer-0", ""), Shell("trainer-1", kIgnoreEverything)});
  EXPECT_EQ(ExitCode(ending), 0) << ending.message();
  EXPECT_THAT(notices_, Contains(HasSubstr("killing trainer-1")));
  ExpectNobodyIsLeft();
}

TEST_F(LocalSupervisor, ATrainerThatIsRefusedWhenTheRunIsOverIsNoFailure) {
  const Status ending =
      Run({Shell("server-0", WaitForTheEndOf("trainer-1"), Role::kServer), Shell("trainer-0", ""),
           Shell("trainer-1", WaitForTheEndOf("trainer-0") + "exit 3")});
  EXPECT_EQ(ExitCode(ending), 0) << ending.message();
  EXPECT_THAT(notices_, testing::ElementsAre(HasSubstr("without trainer-1")));
}

// However long the other takes yet, to save the model for one.
TEST_F(LocalSupervisor, ATrainerThatIsRefusedBeforeAnotherEndsWellIsNoFailure) {
  options_.late_timeout_ms = 50;
  const Status ending = Run({Shell("server-0", WaitForTheEndOf("trainer-0"), Role::kServer),
                             Shell("trainer-0", WaitForTheEndOf("trainer-1") +
                                                    WaitForTheEndOf("trainer-2") + "sleep 0.3"),
                             Shell("trainer-1", "exit 3"), Shell("trainer-2", "exit 3")});
  EXPECT_EQ(ExitCode(ending), 0) << ending.message();
  EXPECT_THAT(notices_, testing::UnorderedElementsAre(HasSubstr("without trainer-1"),
                                                      HasSubstr("without trainer-2")));
}

// However little of the run it leaves undone, it may have had work of its own, and says why.
TEST_F(LocalSupervisor, ATrainerThatFailsIsAFailureThoughAnotherEndedWell) {
  const Status ending =
      Run({Shell("server-0", WaitForTheEndOf("trainer-1"), Role::kServer), Shell("trainer-0", ""),
           Shell("trainer-1", WaitForTheEndOf("trainer-0") + "exit 1")});
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_THAT(ending.message(), HasSubstr("trainer-1 exited with code 1"));
}

TEST_F(LocalSupervisor, ATrainerThatIsRefusedThoughNoOtherEndedWellIsAFailure) {
  const Status ending =
      Run({Shell("server-0", kSleep, Role::kServer), Shell("trainer-0", "exit 3")});
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_THAT(ending.message(), HasSubstr("trainer-0 exited with code 3"));
}

TEST_F(LocalSupervisor, ATrainerThatMustEndWellIsAFailureThoughOthersDo) {
  std::vector<ChildCommand> commands = {
      Shell("trainer-0", "while ! [ -s $0/trainer-1.pid ]; do sleep 0.01; done; sleep 0.2; exit 3"),
      Shell("trainer-1", "")};
  commands[0].must_end_well = true;
  const Status ending = Run(commands);
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_THAT(ending.message(), HasSubstr("trainer-0"));
}

TEST_F(LocalSupervisor, SaysWhatIsLostWithATrainerThatMustEndWell) {
  options_.late_timeout_ms = 50;
  std::vector<ChildCommand> commands = {
      Shell("server-0", WaitForTheEndOf("trainer-1"), Role::kServer), Shell("trainer-0", kSleep),
      Shell("trainer-1", "")};
  commands[1].must_end_well = true;
  const Status ending = Run(commands);
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_THAT(ending.message(), HasSubstr("trainer-0, which was to save the model, is not"));
  ExpectNobodyIsLeft();
}

TEST_F(LocalSupervisor, ATrainerThatFailsIsAFailureWhenNoOtherEndsWell) {
  options_.late_timeout_ms = 50;
  const Status ending = Run({Shell("server-0", kSleep, Role::kServer), Shell("trainer-0", kSleep),
                             Shell("trainer-1", "exit 7")});
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_THAT(ending.message(), HasSubstr("trainer-1 exited with code 7"));
  ExpectNobodyIsLeft();
}

TEST_F(LocalSupervisor, BlamesTheTrainerThatFailedBeforeTheServerThatFollowed) {
  const Status ending =
      Run({Shell("server-0", WaitForTheEndOf("trainer-1") + "exit 9", Role::kServer),
           Shell("trainer-0", kSleep), Shell("trainer-1", "exit 7")});
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_THAT(ending.message(), HasSubstr("trainer-1 exited with code 7"));
}

TEST_F(LocalSupervisor, AServerThatEndsBeforeAnyTrainerIsAFailure) {
  options_.late_timeout_ms = 50;
  const Status ending = Run({Shell("server-0", "", Role::kServer), Shell("trainer-0", kSleep)});
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_THAT(ending.message(), HasSubstr("no trainer is; there still runs trainer-0"));
}

TEST_F(LocalSupervisor, StopsWhatItStartedWhenAProgramIsMissing) {
  ChildCommand missing = Shell("trainer-0", "");
  missing.arguments = {Path("absent")};
  const Status ending = Run({Shell("server-0", kSleep, Role::kServer), missing});
  EXPECT_EQ(ExitCode(ending), 1);
  EXPECT_THAT(ending.message(), HasSubstr("cannot start trainer-0"));
}

}  // namespace
}  // namespace weir::tools
