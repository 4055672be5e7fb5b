#include "tools/local/earlier_results.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAside = "earlier";
constexpr const char* kResults[] = {"summary.json", "metrics.jsonl"};
constexpr const char* kConfig = "config.textproto";

// The directory itself, and those of all trainers of a run, which may have had more of them; from
// the directory.
std::vector<fs::path> FoldersOf(const fs::path& directory) {
  std::vector<fs::path> found = {""};
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const bool is_ours = entry->path().filename().string().starts_with("trainer-");
    std::error_code unknown;  // then nothing is taken from there
    if (is_ours && entry->is_directory(unknown)) found.push_back(entry->path().filename());
  }
  return found;
}

bool HasResults(const fs::path& directory) {
  std::error_code error;
  for (const fs::path& folder : FoldersOf(directory)) {
    for (const char* name : kResults) {
      if (fs::exists(directory / folder / name, error)) return true;
    }
  }
  return false;
}

Status MoveResults(const fs::path& from, const fs::path& to) {
  for (const fs::path& folder : FoldersOf(from)) {
    for (const char* name : {kResults[0], kResults[1], kConfig}) {
      const fs::path path = from / folder / name;
      std::error_code error;
      if (!fs::exists(path, error)) continue;
      fs::create_directories(to / folder, error);
      if (!error) fs::rename(path, to / folder / name, error);
      if (!error) continue;
      return Unavailable(StrCat("cannot move ", path.string(), " of an earlier run to ",
                                to.string(), ": ", error.message()));
    }
  }
  return OkStatus();
}

}  // namespace

Result<EarlierResults> EarlierResults::SetAside(const std::string& directory) {
  const fs::path aside = fs::path(directory) / kAside;
  EarlierResults earlier(directory);
  if (!HasResults(directory)) return earlier;
  std::error_code error;
  fs::remove_all(aside, error);
  if (error) return Unavailable(StrCat("cannot remove ", aside.string(), ": ", error.message()));
  WEIR_RETURN_IF_ERROR(MoveResults(directory, aside));
  return earlier;
}

EarlierResults::~EarlierResults() {
  if (directory_.empty()) return;
  Status status;
  if (!HasResults(directory_)) status = MoveResults(fs::path(directory_) / kAside, directory_);
  if (status.ok()) {
    Forget();
  } else {
    LOG(WARNING) << status.message();
  }
}

void EarlierResults::Forget() {
  if (directory_.empty()) return;
  std::error_code ignored;  // then the next run does
  fs::remove_all(fs::path(directory_) / kAside, ignored);
  directory_.clear();
}

}  // namespace weir::tools
