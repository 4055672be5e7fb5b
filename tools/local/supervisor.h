// Runs the processes of a local run to their common end.
//
// All are started, then waited for. When one fails, the others are asked to stop and, after a
// grace period, killed; so too on Ctrl-C, SIGTERM or SIGHUP, where a second signal kills at once.
// When the last trainer is done the servers have a bounded time to leave. Run returns only when no
// process is left.
//
// A trainer ends well only when the run did. One that came too late for a short run is refused, and
// ends with exit code 3, or waits for servers that have left; that is no failure once another
// trainer has ended well: such a trainer is named in a notice and, when server 0 is done, stopped.
// Every other end that is not well is a failure, whoever else has ended well. But a trainer that
// fails by itself does not keep another from saving the model, which it may do after a run that has
// ended well: that one is waited for. Where the run has failed, it ends soon.
//
// A process that a signal has ended may be started again (failure_judge.h has the rules), and one
// may be killed to try what happens then (kill_plan.h).
//
// The supervisor sleeps in the kernel until a signal (SIGCHLD among them), a deadline or the next
// tick. It blocks these signals for its thread from construction to destruction: build it before
// any other thread is started.
//
// Thread rule: one thread, which must live as long as the children (child_process.h).
#pragma once

#include <signal.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "tools/local/child_process.h"
#include "tools/local/failure_judge.h"
#include "tools/local/kill_plan.h"
#include "tools/local/process_group.h"

namespace weir::tools {

struct SupervisorOptions {
  // From being asked to stop to being killed.
  int64_t grace_ms = 5000;
  // The same where the run has checkpoints, and a SIGTERM asks for one more.
  bool has_checkpoints = false;
  int64_t checkpoint_grace_ms = 25000;
  // From the end of the last trainer to that of the last server.
  int64_t finish_timeout_ms = 60000;
  // For a trainer to end well after server 0 did.
  int64_t late_timeout_ms = 2000;
  // What comes so soon after the first interrupt is the first again (SignalWatcher).
  int64_t same_signal_ms = 100;
  // Between two calls of the progress callback.
  int64_t tick_ms = 500;
  RestartRule restarts = {};
  std::string kill_after = {};  // as KillPlan has it
};

class Supervisor {
 public:
  // `on_tick` is called while the run goes on, from Run; `on_notice` with a line that the user
  // should see at once.
  Supervisor(SupervisorOptions options, std::function<void()> on_tick,
             std::function<void(const std::string&)> on_notice);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Starts the processes in the order given and returns when all have ended. Once only. How the
  // whole run ended: InvalidConfig when a process refused its flags or config, Interrupted, or
  // Unavailable when one failed; the message may have several lines.
  Status Run(const std::vector<ChildCommand>& commands);

 private:
  using Failure = ProcessGroup::Failure;

  // Waits until a signal, a deadline or the next tick; 0 when it was no signal.
  int WaitForSignal() const;
  void OnFailure(const Failure& failure);
  void StartAgain(const Failure& failure);
  void Hold(const Failure& failure, const std::string& saver);
  void Blame(const Failure& failure);
  // Once nobody saves any more.
  void BlameHeld();
  void Excuse(const Failure& failure);
  void OnInterrupt(int signal_number);

  void CheckDeadlines();
  void CheckLate();
  void CheckLateTrainers(int64_t now_ms);
  void CheckLateServers(int64_t now_ms);
  void CheckKill(int64_t now_ms);
  void CheckKillPlan(int64_t now_ms);

  // The first ending given is the one that counts.
  void BeginStop(Status ending, int signal_number, bool behind_checkpoint = false);
  int AtOnce(int signal_number) const { return options_.has_checkpoints ? SIGINT : signal_number; }

  const SupervisorOptions options_;
  const std::function<void()> on_tick_;
  const std::function<void(const std::string&)> on_notice_;
  sigset_t signals_;
  sigset_t previous_mask_;
  ProcessGroup group_;
  FailureJudge judge_;
  KillPlan kills_;
  std::optional<Status> ending_;
  std::optional<int64_t> interrupted_ms_;
  // Trainers that came too late, as long as no other has ended well.
  std::vector<Failure> late_;
  bool late_trainers_stopped_ = false;
  // The first trainer that failed while another was to save the model.
  std::optional<Failure> held_;
  // On Clock::Real; unset while there is none.
  std::optional<int64_t> kill_at_ms_;
  std::optional<int64_t> finish_by_ms_;
  std::optional<int64_t> leave_by_ms_;
};

}  // namespace weir::tools
