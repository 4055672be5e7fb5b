#include "tools/bench/program.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/strings.h"
#include "tools/bench/temporary_folder.h"
#include "tools/local/child_process.h"

namespace weir::bench {
namespace {

std::string LastLine(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

constexpr double kDeathSeconds = 5;  // of what was killed; more than the kernel needs

std::mutex mutex;
std::set<const tools::ChildProcess*> running;  // guarded by mutex, as each process is

// A process that KillProgramsForGood finds.
class RunningProgram {
 public:
  Status Start(tools::ChildCommand command) {
    const std::lock_guard lock(mutex);
    WEIR_ASSIGN_OR_RETURN(tools::ChildProcess started,
                          tools::ChildProcess::Start(std::move(command)));
    running.insert(&process_.emplace(std::move(started)));
    return OkStatus();
  }
  ~RunningProgram() {
    const std::lock_guard lock(mutex);
    if (process_) running.erase(&*process_);
    process_.reset();  // which kills it
  }

  void Signal(int signal_number) const {
    const std::lock_guard lock(mutex);
    process_->Signal(signal_number);
  }

  // Until the process ends (how is returned), or done(), or so many seconds are over.
  template <typename Done>
  std::optional<tools::ChildExit> Wait(double seconds, Done done) {
    const double until = MonotonicSeconds() + seconds;
    std::optional<tools::ChildExit> exit;
    while (!exit && !done() && MonotonicSeconds() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const std::lock_guard lock(mutex);
      exit = process_->Poll();
    }
    return exit;
  }

 private:
  std::optional<tools::ChildProcess> process_;
};

}  // namespace

Result<std::string> RunProgram(const Program& program, const std::function<bool()>& is_enough) {
  WEIR_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
  tools::ChildCommand command{
      .name = program.arguments[0], .arguments = {"/usr/bin/env"}, .log_path = folder.File("log")};
  command.arguments.insert(command.arguments.end(), program.arguments.begin(),
                           program.arguments.end());
  const std::string log_path = command.log_path;
  RunningProgram process;
  WEIR_RETURN_IF_ERROR(process.Start(std::move(command)));
  bool enough = false;
  auto exit = process.Wait(program.give_up_seconds,
                           [&] { return enough = is_enough != nullptr && is_enough(); });
  if (enough) {
    process.Signal(SIGTERM);
    process.Wait(program.give_up_seconds, [] { return false; });
    return LastLine(log_path);
  }
  if (exit && exit->ok()) return LastLine(log_path);
  return Unavailable(StrCat(exit ? ToString(*exit) : "did not end in time", ", saying \"",
                            LastLine(log_path), "\": ", StrJoin(program.arguments, " ")));
}

void AdoptPrograms() { PCHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0); }

void KillProgramsForGood() {
  mutex.lock();  // and never given back
  for (const tools::ChildProcess* process : running) process->Signal(SIGKILL);
  const double until = MonotonicSeconds() + kDeathSeconds;
  while (MonotonicSeconds() < until) {
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended < 0) return;  // there is nobody left
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

std::string BinaryFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

std::string SourceFolder() {
  std::error_code error;
  const std::filesystem::path packed = std::filesystem::path(BinaryFolder()).parent_path();
  const bool is_packed =
      std::filesystem::exists(packed / "tools/bench/peers/pytorch_gpu.py", error);
  return is_packed ? packed.string() : WEIR_SOURCE_DIR;
}

}  // namespace weir::bench
