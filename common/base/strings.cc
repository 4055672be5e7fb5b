#include "common/base/strings.h"

#include <array>
#include <cstdio>

#include "common/base/check.h"

namespace weir {

std::string StrJoin(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::vector<std::string> StrSplit(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string ShellWord(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string Format(const char* format, double value) {
  const int length = std::snprintf(nullptr, 0, format, value);
  CHECK_GE(length, 0) << format;
  std::string text(static_cast<size_t>(length), '\0');
  std::snprintf(text.data(), text.size() + 1, format, value);  // its last byte is the string's own
  return text;
}

std::string FormatBytes(double byte_count) {
  const std::array<const char*, 5> units = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (byte_count >= 1000 && unit + 1 < units.size()) {
    byte_count /= 1000;
    ++unit;
  }
  return Format(unit == 0 ? "%.0f " : "%.1f ", byte_count) + units[unit];
}

}  // namespace weir
