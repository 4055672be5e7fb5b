// Runs a script, mostly one of tools/bench/peers/*.py, a peer that is not C++, and reads the
// numbers it prints. Peers run with Debian's interpreter, or with that of a folder that
// tools/install_peers made (--peers).
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
  std::string peer;                      // "PyTorch 1.13.1": its version, and which variant
  std::map<std::string, double> values;  // by the names that the script's help lists
};

// Whether the folder has an interpreter; "" is Debian's, which is there.
Status CheckPeers(const std::string& folder);

// line: {"peer": "...", "values": {"name": number}}; or {"peer": "...", "failure": "..."} of a peer
// that cannot run, which becomes a failure with its name.
Result<PeerResult> ParsePeerResult(const std::string& script, const std::string& line);

// script: its path below tools. Its last line is the result. Debian's interpreter runs it.
Result<PeerResult> RunScript(const std::string& script, const std::vector<std::string>& arguments);

// script: a file name in tools/bench/peers. peers: as --peers. Nothing where its library is not
// installed, which is told: our own figures are still worth something. Any other failure is one.
Result<std::optional<PeerResult>> RunPeerScript(const std::string& peers, const std::string& script,
                                                const std::vector<std::string>& arguments);

}  // namespace weir::bench
