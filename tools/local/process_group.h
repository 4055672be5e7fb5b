// The processes of a local run: who is there, who still runs, and how the others ended.
//
// Thread rule: one thread, which must live as long as the children (child_process.h). Destruction
// kills what still runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "tools/local/child_process.h"

namespace weir::tools {

class ProcessGroup {
 public:
  struct Failure {
    const ChildCommand* command;
    ChildExit exit;
  };

  // In the order given, servers in shard order. Once only; what was started before an error runs.
  Status Start(const std::vector<ChildCommand>& commands);

  // Of a process that has ended: runs it once more. Which is a failure's, so the pointers of others
  // stay what they are.
  Status StartAgain(const ChildCommand& command);

  // Notes every process that has ended. The failures among them, the likeliest cause first.
  std::vector<Failure> Reap();

  bool AnyRunning() const;
  bool AnyRunning(Role role) const;
  // "server-0, trainer-1".
  std::string RunningNames() const;
  std::string RunningNames(Role role) const;
  bool AnyDone(Role role) const;  // has ended well
  bool ServerZeroDone() const;
  // The running one that the run cannot do without; empty if there is none.
  std::string NameOfNeeded() const;

  void Signal(int signal_number) const;
  void Signal(Role role, int signal_number) const;
  // False when it does not run.
  bool Signal(const std::string& name, int signal_number) const;

 private:
  struct Member {
    ChildProcess process;
    std::optional<ChildExit> exit = {};

    Role role() const { return process.command().role; }
    bool is_done() const { return exit && exit->ok(); }
  };

  std::vector<Member> members_;
};

}  // namespace weir::tools
