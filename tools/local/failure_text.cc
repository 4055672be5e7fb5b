#include "tools/local/failure_text.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "common/base/strings.h"
#include "tools/local/log_excerpt.h"

namespace weir::tools {
namespace {

// A log on a full disk lacks what its process said last, and that is where it says so.
bool IsDiskFull(const std::string& path) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(path, error);
  return !error && space.available == 0;
}

}  // namespace

std::string FailureText(const ChildCommand& command, const ChildExit& exit, int restarts) {
  std::string text = StrCat(command.name, " ", ToString(exit));
  if (restarts > 0) text += StrCat(", after ", restarts, restarts == 1 ? " restart" : " restarts");
  if (IsDiskFull(command.log_path)) {
    text += StrCat("; no space is left on the disk of its log ", command.log_path,
                   ", which may be why, and may lack its last words");
  }
  const std::vector<std::string> lines = LogExcerpt(command.log_path);
  if (lines.empty()) return StrCat(text, " and wrote nothing to its log ", command.log_path);
  text += StrCat("; from its log ", command.log_path, ":");
  for (const std::string& line : lines) text += StrCat("\n    ", line);
  return text;
}

std::string RestartText(const ChildCommand& command, const ChildExit& exit, int restarts,
                        int most_restarts) {
  return StrCat(command.name, " ", ToString(exit), "; starting it again (restart ", restarts,
                " of at most ", most_restarts, ")");
}

}  // namespace weir::tools
