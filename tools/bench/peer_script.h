// Runs a script, mostly one of tools/bench/peers/*.py, a peer that is not C++, and reads the
// numbers it prints.
//
// Thread rule: as in program.h; blocks until the script ends.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace weir::bench {

struct PeerResult {
  std::string peer;                      // "PyTorch 1.13.1"
  std::map<std::string, double> values;  // by the names that the script's help lists
};

// script: its path below tools. The script's last line is {"peer": "...", "values": {"name":
// number}}.
Result<PeerResult> RunScript(const std::string& script, const std::vector<std::string>& arguments);

// script: a file name in tools/bench/peers. Nothing where its library is not installed, which is
// told: our own figures are still worth something. Any other failure is one.
Result<std::optional<PeerResult>> RunPeerScript(const std::string& script,
                                                const std::vector<std::string>& arguments);

}  // namespace weir::bench
