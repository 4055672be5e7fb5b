// Runs a script, mostly one of tools/bench/peers/*.py, a peer that is not C++, and reads the
// numbers it prints.
//
// Thread rule: as in program.h; blocks until the script ends.
#pragma once

#include <map>
#include <string>

#include "common/base/status.h"

namespace weir::bench {

struct PeerResult {
  std::string peer;                      // "PyTorch 1.13.1"
  std::map<std::string, double> values;  // by the names that the script's help lists
};

// script: its path below tools; arguments: with spaces between them. The script's last line is
// {"peer": "...", "values": {"name": number}}.
Result<PeerResult> RunScript(const std::string& script, const std::string& arguments);

// script: a file name in tools/bench/peers. The error tells what to install when a module is
// missing.
Result<PeerResult> RunPeerScript(const std::string& script, const std::string& arguments);

}  // namespace weir::bench
