// One process of a local run: started with its output in a log file, signalled, waited for.
//
// A child leads its own process group, so that Ctrl-C in the terminal reaches only weir-local,
// which decides how the run ends. The kernel kills a child when the thread that started it ends,
// however it ends: call Start from a thread that lives as long as the run. A ChildProcess that is
// destroyed while its process runs kills it and waits for it: no error path leaves one behind.
//
// Thread rule: one thread at a time.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace weir::tools {

enum class Role { kServer, kWorker };

struct ChildCommand {
  // For messages: "server-0", "trainer-1".
  std::string name;
  Role role = Role::kWorker;
  // arguments[0] is the program's path.
  std::vector<std::string> arguments;
  // Gets standard output and standard error; written from its beginning, but by one that is started
  // again.
  std::string log_path;
  // Whether the run has failed when this process has, however well others ended.
  bool must_end_well = false;
};

// How a process ended.
struct ChildExit {
  // 0 when a signal ended it.
  int exit_code = 0;
  // 0 when it exited by itself.
  int signal_number = 0;

  bool ok() const { return exit_code == 0 && signal_number == 0; }
};

// "exited with code 3", "was killed by signal 11 (Segmentation fault)".
std::string ToString(const ChildExit& exit);

class ChildProcess {
 public:
  // Returns once the program runs; NotFound when it cannot be run, with the reason.
  static Result<ChildProcess> Start(ChildCommand command);

  // The same command, once the process has ended; its log goes on. Does nothing on failure.
  Status StartAgain();

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  const ChildCommand& command() const { return command_; }
  bool running() const { return pid_ != 0; }

  // To the whole process group; does nothing once the process has ended.
  void Signal(int signal_number) const;

  // How the process ended, once; empty while it runs and after that. Does not wait. What the
  // process left running in its group is killed.
  std::optional<ChildExit> Poll();

 private:
  ChildProcess(ChildCommand command, pid_t pid) : command_(std::move(command)), pid_(pid) {}

  ChildCommand command_;
  // 0 once the process has ended.
  pid_t pid_;
};

}  // namespace weir::tools
