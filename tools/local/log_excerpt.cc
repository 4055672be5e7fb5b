#include "tools/local/log_excerpt.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>

#include "common/base/strings.h"

namespace weir::tools {
namespace {

constexpr std::streamoff kMaxBytes = 64 * 1024;
constexpr size_t kMaxErrorLines = 20;
constexpr size_t kLastLines = 5;

using Lines = std::vector<std::string>;

Lines LastLines(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  const std::streamoff start = std::max<std::streamoff>(0, size - kMaxBytes);
  file.seekg(start);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Lines lines = StrSplit(text, '\n');
  // Its beginning was cut off.
  if (start > 0) lines.erase(lines.begin());
  std::erase_if(lines, [](const std::string& line) { return line.empty(); });
  return lines;
}

bool IsError(const std::string& line) { return line.starts_with("error:"); }

// glog's lines start with a letter for the severity and the date.
bool IsLogLine(const std::string& line, std::string_view severities) {
  constexpr size_t kDateDigits = 4;
  return line.size() > kDateDigits && severities.find(line[0]) != std::string_view::npos &&
         std::all_of(line.begin() + 1, line.begin() + 1 + kDateDigits,
                     [](char c) { return c >= '0' && c <= '9'; });
}

// The stack trace that follows a failed check says less.
bool IsFailedCheck(const std::string& line) { return IsLogLine(line, "F"); }

Lines LastError(const Lines& lines) {
  const auto last = std::find_if(lines.rbegin(), lines.rend(), IsError);
  if (last == lines.rend()) return {};
  auto begin = last.base() - 1;
  auto end = std::find_if(begin, lines.end(),
                          [](const std::string& line) { return IsLogLine(line, "IWEF"); });
  // Back over errors that were told together.
  while (begin != lines.begin() && IsError(*(begin - 1))) --begin;
  if (static_cast<size_t>(end - begin) > kMaxErrorLines) end = begin + kMaxErrorLines;
  return {begin, end};
}

}  // namespace

std::vector<std::string> LogExcerpt(const std::string& path) {
  const Lines lines = LastLines(path);
  if (Lines error = LastError(lines); !error.empty()) return error;
  const auto check = std::find_if(lines.rbegin(), lines.rend(), IsFailedCheck);
  if (check != lines.rend()) return {*check};
  return {lines.end() - static_cast<std::ptrdiff_t>(std::min(lines.size(), kLastLines)),
          lines.end()};
}

}  // namespace weir::tools
