#include "tools/local/earlier_results.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::tools {
namespace {

namespace fs = std::filesystem;

// Nobody has a folder of this name.
constexpr const char* kAside = ".earlier-results";
constexpr const char* kConfig = "config.textproto";
// In the order in which they are moved. A run that fails leaves its config, which must not be taken
// for that of results that are back already.
constexpr const char* kNames[] = {kConfig, "summary.json", "metrics.jsonl"};

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

// From the directory.
std::vector<fs::path> FilesIn(const fs::path& directory) {
  std::vector<fs::path> found;
  for (const fs::path& folder : FoldersOf(directory)) {
    for (const char* name : kNames) {
      std::error_code error;
      if (fs::exists(directory / folder / name, error)) found.push_back(folder / name);
    }
  }
  return found;
}

bool HasResults(const fs::path& directory) {
  return std::ranges::any_of(FilesIn(directory),
                             [](const fs::path& file) { return file.filename() != kConfig; });
}

Status Move(const fs::path& file, const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories((to / file).parent_path(), error);
  if (!error) fs::rename(from / file, to / file, error);
  if (!error) return OkStatus();
  return Unavailable(StrCat("cannot move ", (from / file).string(), " of an earlier run to ",
                            to.string(), ": ", error.message()));
}

// A launcher that was killed had moved all of them, or some.
Status TakeBack(const fs::path& aside, const fs::path& directory) {
  const bool has_others = HasResults(directory);
  for (const fs::path& file : FilesIn(aside)) {
    std::error_code error;
    if (has_others && fs::exists(directory / file, error)) continue;
    WEIR_RETURN_IF_ERROR(Move(file, aside, directory));
  }
  return OkStatus();
}

}  // namespace

Result<EarlierResults> EarlierResults::SetAside(const std::string& directory) {
  EarlierResults earlier{fs::path(directory)};
  WEIR_RETURN_IF_ERROR(TakeBack(earlier.directory_ / kAside, earlier.directory_));
  if (!HasResults(directory)) return earlier;
  const Status status = earlier.MoveAll();
  if (status.ok()) return earlier;
  earlier.PutBack();
  return status;
}

EarlierResults::~EarlierResults() {
  if (moved_.empty()) return;
  if (HasResults(directory_)) {
    Forget();
  } else {
    PutBack();
  }
}

void EarlierResults::Forget() {
  std::error_code ignored;
  for (const fs::path& file : moved_) fs::remove(directory_ / kAside / file, ignored);
  RemoveEmptyFolders();
}

Status EarlierResults::MoveAll() {
  for (fs::path& file : FilesIn(directory_)) {
    WEIR_RETURN_IF_ERROR(Move(file, directory_, directory_ / kAside));
    moved_.push_back(std::move(file));
  }
  return OkStatus();
}

// What cannot be, the next run may put back.
void EarlierResults::PutBack() {
  for (const fs::path& file : moved_) {
    const Status status = Move(file, directory_ / kAside, directory_);
    if (!status.ok()) LOG(WARNING) << status.message();
  }
  RemoveEmptyFolders();
}

void EarlierResults::RemoveEmptyFolders() {
  std::error_code ignored;  // of one that is not empty
  for (const fs::path& file : moved_) {
    fs::remove(directory_ / kAside / file.parent_path(), ignored);
  }
  fs::remove(directory_ / kAside, ignored);
  moved_.clear();
}

}  // namespace weir::tools
