// The lines of a log that say why its process ended.
//
// Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

namespace weir::tools {

// From the end of the log: the last error (lines that start with "error:" and what follows them up
// to the next log message); else the last failed check; else the last five lines. Without empty
// lines. Empty if there is no log or nothing in it. Reads the last 64 KiB only.
std::vector<std::string> LogExcerpt(const std::string& path);

}  // namespace weir::tools
