#include "tools/bench/peer_script.h"

#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/base/strings.h"

namespace weir::bench {
namespace {

std::string LastLine(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

Result<PeerResult> Parse(const std::string& script, const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("peer") || !json.contains("values")) {
    return Internal(StrCat("tools/bench/peers/", script, " ended with \"", line,
                           "\" instead of its result; run it by hand"));
  }
  return PeerResult{json["peer"], json["values"]};
}

}  // namespace

Result<PeerResult> RunPeerScript(const std::string& script, const std::string& arguments) {
  // Debian's packages belong to Debian's interpreter; another one may come first in PATH.
  const std::string command =
      StrCat("/usr/bin/python3 ", WEIR_SOURCE_DIR, "/tools/bench/peers/", script, " ", arguments);
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return Internal(StrCat("cannot run ", command));
  std::string output;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe)) output += buffer.data();
  if (pclose(pipe) != 0) {
    return Unavailable(StrCat("tools/bench/peers/", script,
                              " failed; is its library there? tools/install_dependencies "
                              "python3-torch"));
  }
  return Parse(script, LastLine(std::move(output)));
}

}  // namespace weir::bench
