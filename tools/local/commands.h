// The command lines of a local run: which processes there are, what each is called and is told.
//
// Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "tools/local/child_process.h"
#include "tools/local/options.h"

namespace weir::tools {

// "server-1".
std::string ServerName(int shard);
// "trainer-0", "trainer-0-stage-1".
std::string WorkerName(int trainer, int stage);

// Of a run whose servers keep logs.
std::string ServerDataDirectory(const LocalOptions& options, int shard);

// The servers in shard order, then the trainers. `addresses` has one entry for each server, empty
// when embedded. residuals_folder: Residuals::folder().
std::vector<ChildCommand> RunCommands(const LocalOptions& options,
                                      const std::vector<std::string>& addresses,
                                      const std::string& residuals_folder);

// "2 servers, 1 trainer", "2 servers, 1 trainer of 3 stages".
std::string CountText(const LocalOptions& options);

}  // namespace weir::tools
