// The command lines of a local run: which processes there are and what each is told.
//
// Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "tools/local/child_process.h"
#include "tools/local/options.h"

namespace weir::tools {

// The servers in shard order, then the trainers. `addresses` has one entry for each server, empty
// when embedded. residuals_folder: Residuals::folder().
std::vector<ChildCommand> RunCommands(const LocalOptions& options,
                                      const std::vector<std::string>& addresses,
                                      const std::string& residuals_folder);

// "2 servers, 1 trainer", "2 servers, 1 trainer of 3 stages".
std::string CountText(const LocalOptions& options);

}  // namespace weir::tools
