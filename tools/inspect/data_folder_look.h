// What a server's data folder holds, and what the server would go on from.
//
// Thread rule: any thread. The server may write on meanwhile.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "common/base/file_system.h"
#include "common/base/status.h"
#include "tools/inspect/log_look.h"
#include "tools/inspect/snapshot_look.h"

namespace weir::tools {

struct DataFolderLook {
  std::vector<LogFileLook> log;
  std::vector<SnapshotLook> snapshots;
  std::vector<std::string> partial;  // names of snapshots that were not finished

  bool is_empty() const { return log.empty() && snapshots.empty() && partial.empty(); }
};

// Again where its server took files away or put others there meanwhile.
Result<DataFolderLook> LookAtDataFolder(FileSystem& files, const std::string& folder);

// What a server that is started anew would do: the newest whole snapshot, and the records behind
// it.
struct Restart {
  const SnapshotLook* snapshot = nullptr;  // null: none is whole
  uint64_t record_count = 0;               // behind it
  uint64_t last_number = 0;                // 0: there is nothing to go on from
  Status status;                           // why it would be refused
};
Restart FindRestart(const DataFolderLook& look);

void PrintDataFolder(const DataFolderLook& look, std::ostream& out);

// Every damage, in the order of the files.
std::vector<Status> DamageOf(const DataFolderLook& look);

}  // namespace weir::tools
