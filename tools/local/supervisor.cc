#include "tools/local/supervisor.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "common/base/clock.h"
#include "common/base/strings.h"
#include "tools/local/log_excerpt.h"

namespace weir::tools {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitRefused = 2;
constexpr int kExitInterrupted = 130;

std::string FailureMessage(const ChildCommand& command, const ChildExit& exit) {
  std::string message = StrCat(command.name, " ", ToString(exit));
  const std::vector<std::string> lines = LogExcerpt(command.log_path);
  if (lines.empty()) return StrCat(message, " and wrote nothing to its log ", command.log_path);
  message += StrCat("; from its log ", command.log_path, ":");
  for (const std::string& line : lines) message += StrCat("\n    ", line);
  return message;
}

timespec ToTimespec(int64_t duration_ms) {
  return {.tv_sec = duration_ms / 1000, .tv_nsec = (duration_ms % 1000) * 1000000};
}

}  // namespace

Supervisor::Supervisor(SupervisorOptions options, std::function<void()> on_tick,
                       std::function<void(const std::string&)> on_notice)
    : options_(options), on_tick_(std::move(on_tick)), on_notice_(std::move(on_notice)) {
  // Inherited as "ignore" it would make the kernel drop how children ended.
  signal(SIGCHLD, SIG_DFL);
  sigemptyset(&signals_);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&signals_, number);
  // Under nohup the run outlives its terminal.
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&signals_, SIGHUP);
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &signals_, &previous_mask_), 0);
}

Supervisor::~Supervisor() {
  children_.clear();
  pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
}

Ending Supervisor::Run(const std::vector<ChildCommand>& commands) {
  CHECK(children_.empty()) << "Run was called twice";
  if (Status status = StartAll(commands); !status.ok()) {
    BeginStop({kExitFailed, status.message()}, SIGTERM);
  }
  while (RunningCount() > 0) {
    const int signal_number = WaitForSignal();
    if (signal_number != 0 && signal_number != SIGCHLD) OnInterrupt(signal_number);
    if (const auto failure = Reap(); failure && !ending_) OnFailure(*failure);
    CheckDeadlines();
    if (!ending_) on_tick_();
  }
  return ending_.value_or(Ending{});
}

Status Supervisor::StartAll(const std::vector<ChildCommand>& commands) {
  children_.reserve(commands.size());
  for (const ChildCommand& command : commands) {
    WEIR_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Start(command));
    children_.push_back(std::move(child));
  }
  return OkStatus();
}

int Supervisor::RunningCount() const {
  return static_cast<int>(std::ranges::count_if(children_, &ChildProcess::running));
}

bool Supervisor::AnyRunning(Role role) const {
  return std::ranges::any_of(children_, [role](const ChildProcess& child) {
    return child.running() && child.command().role == role;
  });
}

std::string Supervisor::RunningNames() const {
  std::vector<std::string> names;
  for (const ChildProcess& child : children_) {
    if (child.running()) names.push_back(child.command().name);
  }
  return StrJoin(names, ", ");
}

int Supervisor::WaitForSignal() const {
  const int64_t now_ms = Clock::Real().NowMs();
  int64_t wait_ms = options_.tick_ms;
  for (const auto& deadline_ms : {kill_at_ms_, finish_by_ms_}) {
    if (deadline_ms) wait_ms = std::clamp<int64_t>(*deadline_ms - now_ms, 0, wait_ms);
  }
  const timespec timeout = ToTimespec(wait_ms);
  const int signal_number = sigtimedwait(&signals_, nullptr, &timeout);
  return signal_number > 0 ? signal_number : 0;
}

std::optional<Supervisor::Failure> Supervisor::Reap() {
  std::optional<Failure> failure;
  for (ChildProcess& child : children_) {
    const std::optional<ChildExit> exit = child.Poll();
    if (!exit || exit->ok()) continue;
    // Of several at once, a crash is rather the cause than an orderly error exit.
    const bool crash_before_exit = failure && failure->exit.signal_number == 0;
    if (!failure || (crash_before_exit && exit->signal_number != 0)) {
      failure = Failure{&child.command(), *exit};
    }
  }
  return failure;
}

void Supervisor::OnFailure(const Failure& failure) {
  const int exit_code = failure.exit.exit_code == kExitRefused ? kExitRefused : kExitFailed;
  BeginStop({exit_code, FailureMessage(*failure.command, failure.exit)}, SIGTERM);
}

void Supervisor::OnInterrupt(int signal_number) {
  if (ending_) {
    on_notice_(StrCat("killing ", RunningNames()));
    SignalAll(SIGKILL);
    return;
  }
  BeginStop({kExitInterrupted, StrCat("interrupted by ", strsignal(signal_number))}, SIGINT);
  on_notice_(StrCat("interrupted; stopping ", RunningNames(), " (once more kills at once)"));
}

void Supervisor::CheckDeadlines() {
  const int64_t now_ms = Clock::Real().NowMs();
  if (kill_at_ms_ && now_ms >= *kill_at_ms_) {
    if (RunningCount() > 0) {
      on_notice_(StrCat("killing ", RunningNames(), ", still there ", options_.grace_ms,
                        " ms after being asked to stop"));
    }
    SignalAll(SIGKILL);
    kill_at_ms_.reset();
  }
  if (ending_ || AnyRunning(Role::kWorker) || !AnyRunning(Role::kServer)) return;
  if (!finish_by_ms_) finish_by_ms_ = now_ms + options_.finish_timeout_ms;
  if (now_ms < *finish_by_ms_) return;
  finish_by_ms_.reset();
  BeginStop({kExitFailed, StrCat("all trainers are done, but after ", options_.finish_timeout_ms,
                                 " ms there still runs ", RunningNames())},
            SIGTERM);
}

void Supervisor::BeginStop(Ending ending, int signal_number) {
  CHECK(!ending_);
  ending_ = std::move(ending);
  SignalAll(signal_number);
  kill_at_ms_ = Clock::Real().NowMs() + options_.grace_ms;
  finish_by_ms_.reset();
}

void Supervisor::SignalAll(int signal_number) const {
  for (const ChildProcess& child : children_) child.Signal(signal_number);
}

}  // namespace weir::tools
