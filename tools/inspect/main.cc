// weir-inspect: what a folder holds that a run has left, and whether all of it is whole.
//
//   weir-inspect [--records] DIR...
//
// Exit codes: 0 all is whole, 1 something is damaged or no such folder, 2 wrong flags, 130
// interrupted.

#include <gflags/gflags.h>

#include <iostream>
#include <string>
#include <vector>

#include "common/base/directory_lock.h"
#include "common/base/signal_watcher.h"
#include "common/base/strings.h"
#include "common/program/program.h"
#include "common/saved_model/places.h"
#include "tools/inspect/inspect_folder.h"

DEFINE_bool(records, false, "lists the records of a server's log, a line each");

namespace weir::tools {
namespace {

constexpr const char* kUsage =
    "what a folder holds that a run has left, and whether all of it is whole\n"
    "  weir-inspect [--records] DIR...\n"
    "      looks at a server's --data_dir, or a saved model; ends with 1 where something is "
    "damaged";

Status CheckFolders(const Arguments& arguments) {
  if (!arguments.empty()) return OkStatus();
  return InvalidConfig("name a folder: a server's --data_dir, or a saved model");
}

Status InspectAll(const Arguments& folders) {
  const SignalWatcher signals(EndInterrupted);
  Status all;
  for (const std::string& argument : folders) {
    const std::string folder = saved_model::WithoutSlashes(argument);
    if (&argument != &folders.front()) std::cout << "\n";
    const FolderOptions options{.lists_records = FLAGS_records,
                                .seems_used = DirectoryLock::SeemsHeld(folder)};
    all = Joined(all, InspectFolder(FileSystem::Real(), folder, options, std::cout));
  }
  return std::cout.flush() ? all : Joined(all, Unavailable("cannot write to standard output"));
}

}  // namespace
}  // namespace weir::tools

int main(int argc, char** argv) {
  return weir::RunProgram({.usage = weir::tools::kUsage,
                           .flags_in = "inspect/main",
                           .short_of_memory = "the files that are looked at",
                           .check = weir::tools::CheckFolders,
                           .run = weir::tools::InspectAll},
                          argc, argv);
}
