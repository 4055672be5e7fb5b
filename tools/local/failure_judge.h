// What follows when a process of a local run does not end well: whether it is started again,
// whether the run has failed by it, or whether that is yet to be seen. Only the rules: no process,
// clock or signal inside.
//
// What a signal has ended may be started again (weir-local --restart): a crash, or a kill. Who says
// itself why it ends has its reasons, and would have them again.
//
// Thread rule: thread-compatible.
#pragma once

#include <map>
#include <string>

#include "tools/local/child_process.h"

namespace weir::tools {

struct RestartRule {
  int most = 0;  // of each process
  // Servers keep a log; one without has lost its parameters, and with them the run.
  bool servers_go_on = false;
};

// How far the run is.
struct RunSituation {
  bool is_over = false;                // server 0 is done: nobody can join
  bool late_trainers_stopped = false;  // the supervisor has asked those that run to end
  bool waits_for_saver = false;        // a trainer that is to save the model still runs
};

enum class Verdict {
  kStartAgain,
  kBlame,    // the run has failed by it
  kHold,     // it has, once nobody saves the model any more
  kTooLate,  // no failure if another trainer ends well
};

class FailureJudge {
 public:
  explicit FailureJudge(RestartRule rule) : rule_(rule) {}

  // Counts who is to be started again.
  Verdict Judge(const ChildCommand& command, const ChildExit& exit, const RunSituation& now);

  // How often it was started again.
  int RestartsOf(const std::string& name) const;
  int most_restarts() const { return rule_.most; }

 private:
  bool MayStartAgain(const ChildCommand& command, const ChildExit& exit,
                     const RunSituation& now) const;

  const RestartRule rule_;
  std::map<std::string, int> restarts_;
};

}  // namespace weir::tools
