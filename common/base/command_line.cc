#include "common/base/command_line.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/strings.h"

namespace weir {

Status CheckConfigFlagsGivenOnce(int argument_count, const char* const* arguments) {
  std::map<std::string_view, int> counts = {{"config", 0}, {"override", 0}};
  for (int i = 1; i < argument_count; ++i) {
    std::string_view flag = arguments[i];
    if (flag == "--") break;  // no flags behind it
    if (!flag.starts_with('-')) continue;
    flag.remove_prefix(flag.starts_with("--") ? 2 : 1);
    const auto found = counts.find(flag.substr(0, flag.find('=')));
    if (found != counts.end()) ++found->second;
  }
  std::vector<std::string> mistakes;
  for (const auto& [flag, count] : counts) {
    if (count < 2) continue;
    mistakes.push_back(StrCat("--", flag, " is given ", count,
                              " times; give it once, with all that it is to say"));
  }
  return mistakes.empty() ? OkStatus() : InvalidConfig(StrJoin(mistakes, "\n"));
}

}  // namespace weir
