#include "tools/local/failure_judge.h"

#include <signal.h>

#include "common/base/check.h"
#include "common/base/exit_code.h"

namespace weir::tools {

Verdict FailureJudge::Judge(const ChildCommand& command, const ChildExit& exit,
                            const RunSituation& now) {
  CHECK(!exit.ok());
  if (MayStartAgain(command, exit, now)) {
    ++restarts_[command.name];
    return Verdict::kStartAgain;
  }
  if (command.role == Role::kServer || command.must_end_well) return Verdict::kBlame;
  if (exit.exit_code == kExitFailed && now.waits_for_saver) return Verdict::kHold;
  const bool was_stopped =
      now.late_trainers_stopped && (exit.exit_code == kExitInterrupted ||
                                    exit.signal_number == SIGTERM || exit.signal_number == SIGKILL);
  const bool is_late = exit.exit_code == kExitTooLate || was_stopped;
  return is_late ? Verdict::kTooLate : Verdict::kBlame;
}

bool FailureJudge::MayStartAgain(const ChildCommand& command, const ChildExit& exit,
                                 const RunSituation& now) const {
  if (exit.signal_number == 0 || now.is_over) return false;
  if (command.role == Role::kServer && !rule_.servers_go_on) return false;
  return RestartsOf(command.name) < rule_.most;
}

int FailureJudge::RestartsOf(const std::string& name) const {
  const auto found = restarts_.find(name);
  return found == restarts_.end() ? 0 : found->second;
}

}  // namespace weir::tools
