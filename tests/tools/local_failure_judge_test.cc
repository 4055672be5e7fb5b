#include "tools/local/failure_judge.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "common/base/exit_code.h"

namespace weir::tools {
namespace {

constexpr ChildExit kKilled = {.signal_number = SIGKILL};

ChildCommand Server(const char* name = "server-1") {
  return {.name = name, .role = Role::kServer, .arguments = {}, .log_path = {}};
}

ChildCommand Trainer(const char* name = "trainer-0") {
  return {.name = name, .role = Role::kWorker, .arguments = {}, .log_path = {}};
}

ChildCommand Saver() {
  ChildCommand command = Trainer();
  command.must_end_well = true;
  return command;
}

TEST(FailureJudge, StartsNobodyAgainUnlessTold) {
  FailureJudge judge({});
  EXPECT_EQ(judge.Judge(Trainer(), kKilled, {}), Verdict::kBlame);
  EXPECT_EQ(judge.Judge(Server(), kKilled, {}), Verdict::kBlame);
  EXPECT_EQ(judge.RestartsOf("trainer-0"), 0);
}

TEST(FailureJudge, StartsEachAgainSoOftenAtMost) {
  FailureJudge judge({.most = 2, .servers_go_on = true});
  for (int i = 1; i <= 2; ++i) {
    EXPECT_EQ(judge.Judge(Trainer(), kKilled, {}), Verdict::kStartAgain);
    EXPECT_EQ(judge.RestartsOf("trainer-0"), i);
  }
  EXPECT_EQ(judge.Judge(Trainer(), kKilled, {}), Verdict::kBlame);
  EXPECT_EQ(judge.RestartsOf("trainer-0"), 2);
  EXPECT_EQ(judge.Judge(Trainer("trainer-0-stage-1"), kKilled, {}), Verdict::kStartAgain);
  EXPECT_EQ(judge.Judge(Server(), {.signal_number = SIGSEGV}, {}), Verdict::kStartAgain);
}

TEST(FailureJudge, StartsNoServerAgainThatHasLostItsParameters) {
  FailureJudge judge({.most = 2, .servers_go_on = false});
  EXPECT_EQ(judge.Judge(Server(), kKilled, {}), Verdict::kBlame);
  EXPECT_EQ(judge.Judge(Trainer(), kKilled, {}), Verdict::kStartAgain);
}

TEST(FailureJudge, StartsNobodyAgainWhoSaysWhyItEnds) {
  FailureJudge judge({.most = 2, .servers_go_on = true});
  for (const int code : {kExitFailed, kExitRefused, kExitInterrupted}) {
    EXPECT_EQ(judge.Judge(Trainer(), {.exit_code = code}, {}), Verdict::kBlame) << code;
    EXPECT_EQ(judge.Judge(Server(), {.exit_code = code}, {}), Verdict::kBlame) << code;
  }
}

TEST(FailureJudge, StartsTheSaverAgainWhileServersWaitForIt) {
  FailureJudge judge({.most = 1, .servers_go_on = false});
  EXPECT_EQ(judge.Judge(Saver(), kKilled, {.is_over = true}), Verdict::kBlame);
  EXPECT_EQ(judge.Judge(Saver(), kKilled, {}), Verdict::kStartAgain);
}

TEST(FailureJudge, StartsNobodyAgainWhomItHasStopped) {
  FailureJudge judge({.most = 2, .servers_go_on = true});
  const RunSituation stopped = {.is_over = true, .late_trainers_stopped = true};
  EXPECT_EQ(judge.Judge(Trainer(), kKilled, stopped), Verdict::kTooLate);
  EXPECT_EQ(judge.Judge(Trainer(), {.exit_code = kExitInterrupted}, stopped), Verdict::kTooLate);
  EXPECT_EQ(judge.Judge(Trainer(), {.signal_number = SIGSEGV}, stopped), Verdict::kBlame);
}

TEST(FailureJudge, TakesWhoCameTooLateForNoFailure) {
  FailureJudge judge({});
  EXPECT_EQ(judge.Judge(Trainer(), {.exit_code = kExitTooLate}, {}), Verdict::kTooLate);
  EXPECT_EQ(judge.Judge(Saver(), {.exit_code = kExitTooLate}, {}), Verdict::kBlame);
  EXPECT_EQ(judge.Judge(Server(), {.exit_code = kExitTooLate}, {}), Verdict::kBlame);
}

TEST(FailureJudge, LetsTheSaverFinishFirst) {
  FailureJudge judge({});
  const RunSituation saving = {.waits_for_saver = true};
  EXPECT_EQ(judge.Judge(Trainer(), {.exit_code = kExitFailed}, saving), Verdict::kHold);
  EXPECT_EQ(judge.Judge(Trainer(), {.exit_code = kExitRefused}, saving), Verdict::kBlame);
  EXPECT_EQ(judge.Judge(Trainer(), kKilled, saving), Verdict::kBlame);
  EXPECT_EQ(judge.Judge(Saver(), {.exit_code = kExitFailed}, saving), Verdict::kBlame);
}

}  // namespace
}  // namespace weir::tools
