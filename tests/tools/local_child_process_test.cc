#include "tools/local/child_process.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "tests/tools/local_support.h"

namespace weir::tools {
namespace {

using testing::HasSubstr;

class LocalChildProcess : public LocalTest {
 protected:
  static ChildProcess Start(const ChildCommand& command) {
    auto child = ChildProcess::Start(command);
    EXPECT_TRUE(child.ok()) << child.status();
    return *std::move(child);
  }

  static ChildExit WaitForExit(ChildProcess& child) {
    while (true) {
      if (auto exit = child.Poll()) return *exit;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void WaitForFile(const std::string& name) const {
    while (ReadFile(Path(name)).empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
};

TEST_F(LocalChildProcess, TellsTheExitCode) {
  ChildProcess child = Start(Shell("a", "exit 3"));
  const ChildExit exit = WaitForExit(child);
  EXPECT_EQ(exit.exit_code, 3);
  EXPECT_FALSE(exit.ok());
  EXPECT_EQ(ToString(exit), "exited with code 3");
  EXPECT_FALSE(child.running());
  EXPECT_FALSE(child.Poll().has_value()) << "an end is told once";
}

TEST_F(LocalChildProcess, TellsTheSignal) {
  ChildProcess child = Start(Shell("a", "kill -SEGV $$"));
  const ChildExit exit = WaitForExit(child);
  EXPECT_EQ(exit.signal_number, SIGSEGV);
  EXPECT_FALSE(exit.ok());
  EXPECT_EQ(ToString(exit), "was killed by signal 11 (Segmentation fault)");
}

TEST_F(LocalChildProcess, WritesBothOutputsToANewLog) {
  WriteFile(Path("a.log"), "old\n");
  ChildProcess child = Start(Shell("a", "echo out; echo err >&2"));
  EXPECT_TRUE(WaitForExit(child).ok());
  EXPECT_EQ(ReadFile(Path("a.log")), "out\nerr\n");
}

TEST_F(LocalChildProcess, GoesOnWithItsLogWhenItIsStartedAgain) {
  ChildProcess child = Start(Shell("a", "[ -e $0/life ] && exit 3; echo > $0/life; kill -KILL $$"));
  AppendFile(Path("a.log"), "first\n");
  EXPECT_EQ(WaitForExit(child).signal_number, SIGKILL);
  ASSERT_TRUE(child.StartAgain().ok());
  EXPECT_TRUE(child.running());
  EXPECT_EQ(WaitForExit(child).exit_code, 3);
  EXPECT_EQ(ReadFile(Path("a.log")), "first\n");
}

TEST_F(LocalChildProcess, SaysWhyItCannotBeStartedAgain) {
  WriteFile(Path("program"), "#!/bin/sh\n");
  std::filesystem::permissions(Path("program"), std::filesystem::perms::owner_all);
  ChildCommand command = Shell("server-0", "");
  command.arguments = {Path("program")};
  ChildProcess child = Start(command);
  EXPECT_TRUE(WaitForExit(child).ok());
  std::filesystem::remove(Path("program"));
  EXPECT_THAT(child.StartAgain().message(), HasSubstr("cannot start server-0"));
  EXPECT_FALSE(child.running());
}

TEST_F(LocalChildProcess, ReadsNothing) {
  ChildProcess child = Start(Shell("a", "cat; echo end"));
  EXPECT_TRUE(WaitForExit(child).ok());
  EXPECT_EQ(ReadFile(Path("a.log")), "end\n");
}

TEST_F(LocalChildProcess, SaysWhyAProgramCannotRun) {
  ChildCommand command = Shell("server-0", "");
  command.arguments = {Path("absent")};
  const auto child = ChildProcess::Start(command);
  ASSERT_FALSE(child.ok());
  EXPECT_THAT(child.status().message(), HasSubstr("server-0"));
  EXPECT_THAT(child.status().message(), HasSubstr(Path("absent") + ": No such file"));
}

TEST_F(LocalChildProcess, SaysWhyALogCannotBeWritten) {
  ChildCommand command = Shell("a", "");
  command.log_path = Path("absent/a.log");
  const auto child = ChildProcess::Start(command);
  ASSERT_FALSE(child.ok());
  EXPECT_THAT(child.status().message(), HasSubstr(command.log_path));
}

TEST_F(LocalChildProcess, IsNotReachedByInheritedBlocksOfSignals) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  ChildProcess child = Start(Shell("a", "sleep 600"));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  child.Signal(SIGTERM);
  EXPECT_EQ(WaitForExit(child).signal_number, SIGTERM);
}

TEST_F(LocalChildProcess, LeavesNothingOfItsGroupBehind) {
  ChildProcess child = Start(Shell("a", "sleep 600 & echo $! > $0/inner.pid; exit 0"));
  EXPECT_TRUE(WaitForExit(child).ok());
  // The orphan is reaped by whoever inherits it; until then it is there, but a zombie.
  const std::string status_path = "/proc/" + std::to_string(PidOf("inner")) + "/status";
  std::string status = ReadFile(status_path);
  while (!status.empty() && status.find("State:\tZ") == std::string::npos) {
    status = ReadFile(status_path);
  }
}

TEST_F(LocalChildProcess, IsGoneWhenDestroyed) {
  {
    const ChildProcess child = Start(Shell("a", "trap '' TERM INT; sleep 600"));
    WaitForFile("a.pid");
  }
  EXPECT_FALSE(ProcessExists(PidOf("a")));
}

}  // namespace
}  // namespace weir::tools
