#include "tools/bench/program.h"

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

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

// Until the process ends (how is returned), or done(), or so many seconds are over.
template <typename Done>
std::optional<tools::ChildExit> Wait(tools::ChildProcess* process, double seconds, Done done) {
  const double until = MonotonicSeconds() + seconds;
  std::optional<tools::ChildExit> exit;
  while (!exit && !done() && MonotonicSeconds() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    exit = process->Poll();
  }
  return exit;
}

}  // namespace

Result<std::string> RunProgram(const Program& program, const std::function<bool()>& is_enough) {
  WEIR_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
  tools::ChildCommand command{
      .name = program.arguments[0], .arguments = {"/usr/bin/env"}, .log_path = folder.File("log")};
  command.arguments.insert(command.arguments.end(), program.arguments.begin(),
                           program.arguments.end());
  const std::string log_path = command.log_path;
  WEIR_ASSIGN_OR_RETURN(tools::ChildProcess process,
                        tools::ChildProcess::Start(std::move(command)));
  bool enough = false;
  auto exit = Wait(&process, program.give_up_seconds,
                   [&] { return enough = is_enough != nullptr && is_enough(); });
  if (enough) {
    process.Signal(SIGTERM);
    Wait(&process, program.give_up_seconds, [] { return false; });
    return LastLine(log_path);
  }
  if (exit && exit->ok()) return LastLine(log_path);
  return Unavailable(StrCat(exit ? ToString(*exit) : "did not end in time", ", saying \"",
                            LastLine(log_path), "\": ", StrJoin(program.arguments, " ")));
}

std::string BinaryFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

}  // namespace weir::bench
