// A folder that a run has left, of whatever kind: what it holds, and all that is damaged.
//
// Thread rule: any thread.
#pragma once

#include <ostream>
#include <string>

#include "common/base/file_system.h"
#include "common/base/status.h"

namespace weir::tools {

struct FolderOptions {
  bool lists_records = false;  // of the log, a line each
  bool seems_used = false;     // by a server that may write on
};

// OK: all of it is whole. InvalidData names every damage, a line each; NotFound: it is no folder of
// a run's.
Status InspectFolder(FileSystem& files, const std::string& folder, const FolderOptions& options,
                     std::ostream& out);

}  // namespace weir::tools
