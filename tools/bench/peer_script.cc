#include "tools/bench/peer_script.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "common/base/strings.h"
#include "tools/bench/program.h"

namespace weir::bench {
namespace {

Result<PeerResult> Parse(const std::string& script, const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  try {
    return PeerResult{json.at("peer"), json.at("values")};
  } catch (const nlohmann::json::exception&) {  // not an object, or of other types
    return Internal(StrCat("tools/", script, " ended with \"", line,
                           "\" instead of its result; run it by hand"));
  }
}

}  // namespace

Result<PeerResult> RunScript(const std::string& script, const std::vector<std::string>& arguments) {
  // Debian's packages belong to Debian's interpreter; another one may come first in PATH.
  Program program{{"/usr/bin/python3", StrCat(WEIR_SOURCE_DIR, "/tools/", script)}, 300};
  program.arguments.insert(program.arguments.end(), arguments.begin(), arguments.end());
  WEIR_ASSIGN_OR_RETURN(const std::string line, RunProgram(program));
  return Parse(script, line);
}

Result<std::optional<PeerResult>> RunPeerScript(const std::string& script,
                                                const std::vector<std::string>& arguments) {
  Result<PeerResult> result = RunScript(StrCat("bench/peers/", script), arguments);
  if (result.ok()) return std::optional(*std::move(result));
  if (result.status().message().find("ModuleNotFoundError") == std::string::npos) {
    return result.status();
  }
  std::cout << "no peer: " << result.status().message()
            << "; tools/install_dependencies python3-torch has what is missing\n";
  return std::optional<PeerResult>();
}

}  // namespace weir::bench
