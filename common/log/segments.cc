#include "common/log/segments.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "common/base/strings.h"

namespace weir::log {
namespace {

constexpr std::string_view kPrefix = "log-";
constexpr std::string_view kSuffix = ".weir";
constexpr size_t kDigits = 20;  // of any number, so that names sort as numbers do

std::optional<uint64_t> NumberIn(std::string_view name) {
  if (name.size() != kPrefix.size() + kDigits + kSuffix.size()) return std::nullopt;
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size(), kDigits);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  if (error != std::errc() || end != digits.end()) return std::nullopt;
  return number;
}

}  // namespace

std::string SegmentPath(const std::string& folder, uint64_t first_number) {
  std::string digits = std::to_string(first_number);
  digits.insert(0, kDigits - digits.size(), '0');
  return StrCat(folder, "/", kPrefix, digits, kSuffix);
}

Result<std::vector<Segment>> FindSegments(FileSystem& files, const std::string& folder) {
  std::vector<Segment> segments;
  auto names = files.List(folder);
  if (names.status().code() == StatusCode::kNotFound) return segments;
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (const auto number = NumberIn(name)) {
      segments.push_back({*number, StrCat(folder, "/", name)});
    }
  }
  return segments;
}

}  // namespace weir::log
