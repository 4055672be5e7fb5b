#include "tools/local/supervisor.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "common/base/clock.h"
#include "common/base/exit_code.h"
#include "common/base/signal_watcher.h"
#include "common/base/strings.h"
#include "tools/local/commands.h"
#include "tools/local/failure_text.h"

namespace weir::tools {
namespace {

timespec ToTimespec(int64_t duration_ms) {
  return {.tv_sec = duration_ms / 1000, .tv_nsec = (duration_ms % 1000) * 1000000};
}

}  // namespace

Supervisor::Supervisor(SupervisorOptions options, std::function<void()> on_tick,
                       std::function<void(const std::string&)> on_notice)
    : options_(std::move(options)),
      on_tick_(std::move(on_tick)),
      on_notice_(std::move(on_notice)),
      judge_(options_.restarts),
      kills_(options_.kill_after) {
  // Inherited as "ignore" it would make the kernel drop how children ended.
  signal(SIGCHLD, SIG_DFL);
  signals_ = StopSignals();
  sigaddset(&signals_, SIGCHLD);
  if (options_.has_checkpoints) sigaddset(&signals_, SIGUSR1);
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &signals_, &previous_mask_), 0);
}

Supervisor::~Supervisor() {
  group_ = {};  // kills what still runs, while its signals are still blocked
  pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
}

Status Supervisor::Run(const std::vector<ChildCommand>& commands) {
  if (Status status = group_.Start(commands); !status.ok()) {
    BeginStop(status, SIGTERM);
  }
  kills_.Begin(Clock::Real().NowMs());
  while (group_.AnyRunning()) {
    const int signal_number = WaitForSignal();
    if (signal_number == SIGUSR1) {
      if (!group_.Signal(ServerName(0), SIGUSR1)) group_.Signal(WorkerName(0, 0), SIGUSR1);
    } else if (signal_number != 0 && signal_number != SIGCHLD) {
      OnInterrupt(signal_number);
    }
    for (const Failure& failure : group_.Reap()) OnFailure(failure);
    CheckDeadlines();
    if (!ending_) on_tick_();
  }
  return ending_.value_or(OkStatus());
}

int Supervisor::WaitForSignal() const {
  const int64_t now_ms = Clock::Real().NowMs();
  int64_t wait_ms = options_.tick_ms;
  for (const auto& deadline_ms : {kill_at_ms_, finish_by_ms_, leave_by_ms_, kills_.next_ms()}) {
    if (deadline_ms) wait_ms = std::clamp<int64_t>(*deadline_ms - now_ms, 0, wait_ms);
  }
  const timespec timeout = ToTimespec(wait_ms);
  const int signal_number = sigtimedwait(&signals_, nullptr, &timeout);
  return signal_number > 0 ? signal_number : 0;
}

void Supervisor::OnFailure(const Failure& failure) {
  if (ending_) return;
  const std::string saver = group_.NameOfNeeded();
  const RunSituation now = {.is_over = group_.ServerZeroDone(),
                            .late_trainers_stopped = late_trainers_stopped_,
                            .waits_for_saver = !saver.empty()};
  switch (judge_.Judge(*failure.command, failure.exit, now)) {
    case Verdict::kStartAgain:
      return StartAgain(failure);
    case Verdict::kBlame:
      return Blame(failure);
    case Verdict::kHold:
      return Hold(failure, saver);
    case Verdict::kTooLate:
      return late_.push_back(failure);
  }
}

void Supervisor::StartAgain(const Failure& failure) {
  const ChildCommand& command = *failure.command;
  on_notice_(
      RestartText(command, failure.exit, judge_.RestartsOf(command.name), judge_.most_restarts()));
  if (Status status = group_.StartAgain(command); !status.ok()) BeginStop(status, SIGTERM);
}

void Supervisor::Hold(const Failure& failure, const std::string& saver) {
  on_notice_(StrCat(failure.command->name, " ", ToString(failure.exit), "; waiting for ", saver,
                    ", which is to save the model"));
  if (!held_) held_ = failure;
}

void Supervisor::BlameHeld() {
  if (held_ && group_.NameOfNeeded().empty()) Blame(*held_);
}

void Supervisor::Blame(const Failure& last) {
  const Failure& failure = held_ ? *held_ : last;  // the first explains the others
  std::string message =
      FailureText(*failure.command, failure.exit, judge_.RestartsOf(failure.command->name));
  const bool was_refused = failure.exit.exit_code == kExitRefused;
  BeginStop(was_refused ? InvalidConfig(std::move(message)) : Unavailable(std::move(message)),
            SIGTERM);
}

void Supervisor::Excuse(const Failure& failure) {
  if (late_trainers_stopped_) return;  // a notice has named it
  on_notice_(StrCat("the run ended well without ", failure.command->name, ", which ",
                    ToString(failure.exit), "; its log is ", failure.command->log_path));
}

void Supervisor::OnInterrupt(int signal_number) {
  const int64_t now_ms = Clock::Real().NowMs();
  if (interrupted_ms_ && now_ms - *interrupted_ms_ < options_.same_signal_ms) return;
  interrupted_ms_ = now_ms;
  if (ending_) {
    on_notice_(StrCat("killing ", group_.RunningNames()));
    group_.Signal(SIGKILL);
    return;
  }
  const bool has_checkpoint = options_.has_checkpoints && signal_number == SIGTERM;
  BeginStop(Interrupted(StrCat("interrupted by ", strsignal(signal_number))), SIGINT,
            has_checkpoint);
  on_notice_(StrCat("interrupted; stopping ", group_.RunningNames(),
                    has_checkpoint ? " behind a checkpoint" : "", " (once more kills at once)"));
}

void Supervisor::CheckDeadlines() {
  const int64_t now_ms = Clock::Real().NowMs();
  CheckKill(now_ms);
  if (!ending_) CheckKillPlan(now_ms);
  if (!ending_) BlameHeld();
  if (!ending_) CheckLate();
  if (!ending_) CheckLateTrainers(now_ms);
  if (!ending_) CheckLateServers(now_ms);
}

void Supervisor::CheckKill(int64_t now_ms) {
  if (!kill_at_ms_ || now_ms < *kill_at_ms_) return;
  kill_at_ms_.reset();
  const std::string names = ending_ ? group_.RunningNames() : group_.RunningNames(Role::kWorker);
  if (names.empty()) return;
  on_notice_(StrCat("killing ", names, ", still there ", options_.grace_ms,
                    " ms after being asked to stop"));
  if (ending_) {
    group_.Signal(SIGKILL);
  } else {
    group_.Signal(Role::kWorker, SIGKILL);
  }
}

void Supervisor::CheckKillPlan(int64_t now_ms) {
  while (const auto order = kills_.TakeDue(now_ms)) {
    const bool runs = group_.Signal(order->name, SIGKILL);
    on_notice_(StrCat("--kill_after: ", order->name,
                      runs ? StrCat(" is killed, ", order->after_ms, " ms after the start")
                           : std::string(" has ended before")));
  }
}

// Who came too late is excused when another has ended well, which may take it long yet.
void Supervisor::CheckLate() {
  if (late_.empty()) return;
  if (group_.AnyDone(Role::kWorker)) {
    for (const Failure& failure : std::exchange(late_, {})) Excuse(failure);
  } else if (!group_.AnyRunning(Role::kWorker)) {
    Blame(late_.front());
  }
}

void Supervisor::CheckLateTrainers(int64_t now_ms) {
  if (late_trainers_stopped_ || !group_.ServerZeroDone() || !group_.AnyRunning(Role::kWorker))
    return;
  if (!leave_by_ms_) leave_by_ms_ = now_ms + options_.late_timeout_ms;
  if (now_ms < *leave_by_ms_) return;
  leave_by_ms_.reset();
  if (!group_.AnyDone(Role::kWorker)) {
    BeginStop(Unavailable(StrCat("server 0 is done, but no trainer is; there still runs ",
                                 group_.RunningNames())),
              SIGTERM);
    return;
  }
  if (const std::string needed = group_.NameOfNeeded(); !needed.empty()) {
    BeginStop(Unavailable(StrCat("server 0 is done, and ", needed,
                                 ", which was to save the model, is not: it is not saved")),
              SIGTERM);
    return;
  }
  late_trainers_stopped_ = true;
  on_notice_(StrCat("the run ended well; stopping ", group_.RunningNames(Role::kWorker),
                    ", which came too late"));
  group_.Signal(Role::kWorker, AtOnce(SIGTERM));
  kill_at_ms_ = now_ms + options_.grace_ms;
}

void Supervisor::CheckLateServers(int64_t now_ms) {
  if (group_.AnyRunning(Role::kWorker) || !group_.AnyRunning(Role::kServer)) return;
  if (!finish_by_ms_) finish_by_ms_ = now_ms + options_.finish_timeout_ms;
  if (now_ms < *finish_by_ms_) return;
  BeginStop(Unavailable(StrCat("all trainers are done, but after ", options_.finish_timeout_ms,
                               " ms there still runs ", group_.RunningNames())),
            SIGTERM);
}

void Supervisor::BeginStop(Status ending, int signal_number, bool behind_checkpoint) {
  CHECK(!ending_);
  ending_ = std::move(ending);
  group_.Signal(behind_checkpoint ? SIGTERM : AtOnce(signal_number));
  kill_at_ms_ = Clock::Real().NowMs() +
                (behind_checkpoint ? options_.checkpoint_grace_ms : options_.grace_ms);
  kills_ = KillPlan();
  for (auto* deadline : {&finish_by_ms_, &leave_by_ms_}) deadline->reset();
}

}  // namespace weir::tools
