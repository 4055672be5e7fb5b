#include "tools/bench/peer_script.h"

#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "common/base/strings.h"
#include "tools/bench/program.h"

namespace weir::bench {
namespace {

// Debian's packages belong to Debian's interpreter; another one may come first in PATH.
constexpr const char* kDebiansPython = "/usr/bin/python3";
constexpr double kGiveUpSeconds = 600;  // torch.compile takes minutes where others are at work

std::string PythonOf(const std::string& peers) {
  return peers.empty() ? kDebiansPython : peers + "/bin/python";
}

Result<PeerResult> Run(const std::string& python, const std::string& script,
                       const std::vector<std::string>& arguments) {
  Program program{{python, StrCat(SourceFolder(), "/tools/", script)}, kGiveUpSeconds};
  program.arguments.insert(program.arguments.end(), arguments.begin(), arguments.end());
  WEIR_ASSIGN_OR_RETURN(const std::string line, RunProgram(program));
  return ParsePeerResult(script, line);
}

}  // namespace

Status CheckPeers(const std::string& folder) {
  if (access(PythonOf(folder).c_str(), X_OK) == 0) return OkStatus();
  return InvalidConfig(StrCat("--peers=", folder,
                              " has no interpreter bin/python; tools/install_peers ", folder,
                              " makes one"));
}

Result<PeerResult> ParsePeerResult(const std::string& script, const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  try {
    const std::string peer = json.at("peer");
    if (json.contains("failure")) {
      return Unavailable(StrCat(peer, ": ", json.at("failure").get<std::string>()));
    }
    return PeerResult{peer, json.at("values")};
  } catch (const nlohmann::json::exception&) {  // not an object, or of other types
    return Internal(StrCat("tools/", script, " ended with \"", line,
                           "\" instead of its result; run it by hand"));
  }
}

Result<PeerResult> RunScript(const std::string& script, const std::vector<std::string>& arguments) {
  return Run(kDebiansPython, script, arguments);
}

Result<std::optional<PeerResult>> RunPeerScript(const std::string& peers, const std::string& script,
                                                const std::vector<std::string>& arguments) {
  Result<PeerResult> result = Run(PythonOf(peers), StrCat("bench/peers/", script), arguments);
  if (result.ok()) return std::optional(*std::move(result));
  if (result.status().message().find("ModuleNotFoundError") == std::string::npos) {
    return result.status();
  }
  std::cout << "no peer: " << result.status().message() << "; "
            << (peers.empty() ? "tools/install_dependencies python3-torch"
                              : StrCat("tools/install_peers ", peers))
            << " has what is missing\n";
  return std::optional<PeerResult>();
}

}  // namespace weir::bench
