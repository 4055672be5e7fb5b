// Numbers as people read them.
//
// Thread rule: any thread.
#pragma once

#include <string>

namespace weir::tools {

// 1234567.8 -> "1,234,568"; what is no finite number from 0 to 1e15 becomes the nearer end.
std::string CountWithCommas(double count);

// 75.2 -> "01:16", 3725 -> "1:02:05". `seconds` from 0 to 1e9.
std::string DurationText(double seconds);

}  // namespace weir::tools
