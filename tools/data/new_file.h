// Files that a command makes, and that must not be there before it.
//
// Thread rule: any thread.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace weir::tools {

// InvalidConfig when there is something at the path.
Status CheckIsNew(const std::string& path);

// Whole or not at all.
Status WriteNewFile(const std::string& path, std::string_view text);

}  // namespace weir::tools
