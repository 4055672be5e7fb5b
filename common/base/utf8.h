// Text that may hold any bytes, and protocol buffers, which take UTF-8 alone.
//
// Thread rule: any thread.
#pragma once

#include <string>
#include <string_view>

namespace weir {

// Whether the text is UTF-8 (RFC 3629).
bool IsUtf8(std::string_view text);

// The text if it is UTF-8, else with a '?' for each byte that is not ASCII.
std::string ToUtf8(std::string text);

}  // namespace weir
