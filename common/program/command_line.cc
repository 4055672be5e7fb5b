#include "common/program/command_line.h"

#include <gflags/gflags.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/nearest_word.h"
#include "common/base/strings.h"

namespace weir {

namespace {

// The name of the flag; empty for another argument.
std::string_view FlagName(std::string_view argument) {
  if (!argument.starts_with('-')) return {};
  argument.remove_prefix(argument.starts_with("--") ? 2 : 1);
  return argument.substr(0, argument.find('='));
}

// What may have been meant by a flag that is none; gflags says that it is none.
std::string Unknown(std::string_view flag) {
  if (flag.empty()) return "";
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::vector<std::string> names;
  for (const gflags::CommandLineFlagInfo& known : flags) {
    if (known.name == flag || StrCat("no", known.name) == flag) return "";
    if (known.filename.find("gflags") == std::string::npos) names.push_back("--" + known.name);
  }
  const std::string meant = DidYouMean(StrCat("--", flag), names);
  return meant.empty() ? "" : StrCat("--", flag, " is no flag", meant);
}

}  // namespace

Status CheckCommandLine(int argument_count, const char* const* arguments) {
  std::map<std::string_view, int> counts = {{"config", 0}, {"override", 0}};
  std::vector<std::string> mistakes;
  for (int i = 1; i < argument_count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--") break;  // no flags behind it
    const std::string_view flag = FlagName(argument);
    if (std::string unknown = Unknown(flag); !unknown.empty()) mistakes.push_back(unknown);
    if (const auto found = counts.find(flag); found != counts.end()) ++found->second;
    const bool names_folder = flag == "save" || flag == "warm_start" || flag == "save_residuals";
    const bool value_follows =
        names_folder && argument.find('=') == std::string_view::npos && i + 1 < argument_count;
    const bool is_empty = argument.find('=') == argument.size() - 1 ||
                          (value_follows && std::string_view(arguments[i + 1]).empty());
    if (names_folder && is_empty) {
      mistakes.push_back(StrCat("--", flag, " is empty: name a folder, or leave the flag out"));
    }
  }
  for (const auto& [flag, count] : counts) {
    if (count < 2) continue;
    mistakes.push_back(StrCat("--", flag, " is given ", count,
                              " times; give it once, with all that it is to say"));
  }
  return mistakes.empty() ? OkStatus() : InvalidConfig(StrJoin(mistakes, "\n"));
}

}  // namespace weir
