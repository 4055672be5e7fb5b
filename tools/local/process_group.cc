#include "tools/local/process_group.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::tools {

Status ProcessGroup::Start(const std::vector<ChildCommand>& commands) {
  CHECK(members_.empty()) << "Start was called twice";
  members_.reserve(commands.size());
  for (const ChildCommand& command : commands) {
    WEIR_ASSIGN_OR_RETURN(ChildProcess process, ChildProcess::Start(command));
    members_.push_back({std::move(process)});
  }
  return OkStatus();
}

Status ProcessGroup::StartAgain(const ChildCommand& command) {
  const auto member = std::ranges::find_if(
      members_, [&](const Member& m) { return &m.process.command() == &command; });
  CHECK(member != members_.end());
  WEIR_RETURN_IF_ERROR(member->process.StartAgain());
  member->exit.reset();
  return OkStatus();
}

std::vector<ProcessGroup::Failure> ProcessGroup::Reap() {
  std::vector<Failure> failures;
  for (Member& member : members_) {
    const std::optional<ChildExit> exit = member.process.Poll();
    if (!exit) continue;
    member.exit = exit;
    if (!exit->ok()) failures.push_back({&member.process.command(), *exit});
  }
  // Of several at once, a crash is rather the cause than an orderly error exit.
  std::stable_partition(failures.begin(), failures.end(),
                        [](const Failure& f) { return f.exit.signal_number != 0; });
  return failures;
}

bool ProcessGroup::AnyRunning() const {
  return AnyRunning(Role::kServer) || AnyRunning(Role::kWorker);
}

bool ProcessGroup::AnyRunning(Role role) const { return !RunningNames(role).empty(); }

std::string ProcessGroup::RunningNames() const {
  std::vector<std::string> names;
  for (const Role role : {Role::kServer, Role::kWorker}) {
    if (AnyRunning(role)) names.push_back(RunningNames(role));
  }
  return StrJoin(names, ", ");
}

std::string ProcessGroup::RunningNames(Role role) const {
  std::vector<std::string> names;
  for (const Member& member : members_) {
    if (member.role() == role && member.process.running()) {
      names.push_back(member.process.command().name);
    }
  }
  return StrJoin(names, ", ");
}

bool ProcessGroup::AnyDone(Role role) const {
  return std::ranges::any_of(
      members_, [role](const Member& member) { return member.role() == role && member.is_done(); });
}

bool ProcessGroup::ServerZeroDone() const {
  const auto first = std::ranges::find(members_, Role::kServer, &Member::role);
  return first != members_.end() && first->is_done();
}

std::string ProcessGroup::NameOfNeeded() const {
  const auto needed = std::ranges::find_if(members_, [](const Member& member) {
    return !member.exit && member.process.command().must_end_well;
  });
  return needed == members_.end() ? "" : needed->process.command().name;
}

void ProcessGroup::Signal(int signal_number) const {
  for (const Member& member : members_) member.process.Signal(signal_number);
}

void ProcessGroup::Signal(Role role, int signal_number) const {
  for (const Member& member : members_) {
    if (member.role() == role) member.process.Signal(signal_number);
  }
}

bool ProcessGroup::Signal(const std::string& name, int signal_number) const {
  const auto member = std::ranges::find_if(members_, [&](const Member& m) {
    return m.process.running() && m.process.command().name == name;
  });
  if (member == members_.end()) return false;
  member->process.Signal(signal_number);
  return true;
}

}  // namespace weir::tools
