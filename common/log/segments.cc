#include "common/log/segments.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "common/base/strings.h"

namespace weir::log {
namespace {

constexpr std::string_view kLog = "log-", kSnapshot = "snapshot-";
constexpr std::string_view kSuffix = ".weir", kPartial = ".partial";
constexpr size_t kDigits = 20;  // of any number, so that names sort as numbers do

std::string PathOf(const std::string& folder, std::string_view kind, uint64_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, kDigits - digits.size(), '0');
  return StrCat(folder, "/", kind, digits, kSuffix);
}

std::optional<uint64_t> NumberIn(std::string_view name, std::string_view kind) {
  if (name.size() != kind.size() + kDigits + kSuffix.size()) return std::nullopt;
  if (!name.starts_with(kind) || !name.ends_with(kSuffix)) return std::nullopt;
  const std::string_view digits = name.substr(kind.size(), kDigits);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  if (error != std::errc() || end != digits.end()) return std::nullopt;
  return number;
}

template <typename File>
Result<std::vector<File>> Find(FileSystem& files, const std::string& folder,
                               std::string_view kind) {
  std::vector<File> found;
  auto names = files.List(folder);
  if (names.status().code() == StatusCode::kNotFound) return found;
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (const auto number = NumberIn(name, kind)) {
      found.push_back({*number, StrCat(folder, "/", name)});
    }
  }
  return found;
}

}  // namespace

std::string SegmentPath(const std::string& folder, uint64_t first_number) {
  return PathOf(folder, kLog, first_number);
}

Result<std::vector<Segment>> FindSegments(FileSystem& files, const std::string& folder) {
  return Find<Segment>(files, folder, kLog);
}

std::string SnapshotPath(const std::string& folder, uint64_t last_number) {
  return PathOf(folder, kSnapshot, last_number);
}

Result<std::vector<Snapshot>> FindSnapshots(FileSystem& files, const std::string& folder) {
  return Find<Snapshot>(files, folder, kSnapshot);
}

std::string PartialPath(const std::string& path) { return StrCat(path, kPartial); }

bool IsPartial(const std::string& name) {
  return name.starts_with(kSnapshot) && name.ends_with(kPartial);
}

// A file of the log goes when the next one begins at or before what is needed.
Status RemoveOld(FileSystem& files, const std::string& folder, size_t kept_snapshots) {
  WEIR_ASSIGN_OR_RETURN(const auto snapshots, FindSnapshots(files, folder));
  if (snapshots.size() < kept_snapshots) return OkStatus();
  const size_t first_kept = snapshots.size() - kept_snapshots;
  for (size_t i = 0; i < first_kept; ++i) {
    WEIR_RETURN_IF_ERROR(files.Remove(snapshots[i].path));
  }
  WEIR_ASSIGN_OR_RETURN(const auto segments, FindSegments(files, folder));
  const uint64_t needed = snapshots[first_kept].last_number + 1;
  for (size_t i = 0; i + 1 < segments.size() && segments[i + 1].first_number <= needed; ++i) {
    WEIR_RETURN_IF_ERROR(files.Remove(segments[i].path));
  }
  return OkStatus();
}

}  // namespace weir::log
