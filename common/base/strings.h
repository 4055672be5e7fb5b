// Small text helpers for messages.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

std::string StrJoin(const std::vector<std::string>& parts, std::string_view separator);

// Splits at every separator; empty parts are kept, and "" gives no part.
std::vector<std::string> StrSplit(std::string_view text, char separator);

// ASCII's capitals as small letters, whatever the locale.
std::string Lower(std::string_view text);

// A word for a shell: quoted where it needs to be.
std::string ShellWord(std::string_view text);

// printf for one value, as in Format("%.4f", x); of any length.
std::string Format(const char* format, double value);

// 1234567 -> "1.2 MB" (powers of 1000).
std::string FormatBytes(double byte_count);

}  // namespace weir
