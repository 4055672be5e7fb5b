#include "common/saved_model/checkpoint_folder.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/file_writer.h"
#include "common/base/strings.h"
#include "common/config/config_hash.h"
#include "common/saved_model/manifest.h"
#include "common/saved_model/places.h"
#include "common/saved_model/policy_states.h"
#include "common/saved_model/progress_file.h"
#include "common/saved_model/saved_model.h"
#include "common/saved_model/writer.h"

namespace weir::saved_model {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCheckpoint = "checkpoint-";
constexpr const char* kBest = "best";

std::optional<uint64_t> NumberOf(std::string_view name) {
  if (!name.starts_with(kCheckpoint)) return std::nullopt;
  name.remove_prefix(kCheckpoint.size());
  uint64_t number = 0;
  const auto end = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = end.ec == std::errc() && end.ptr == name.data() + name.size();
  return is_number ? std::optional(number) : std::nullopt;
}

struct Found {
  uint64_t number = 0;
  uint64_t id = 0;
  std::optional<double> logloss;
};

// Of the newest one's lineage, the newest first; none that is not whole.
std::vector<Found> FindLineage(const std::string& folder) {
  std::vector<Found> found;
  std::optional<uint64_t> lineage;
  for (const uint64_t number : CheckpointsIn(folder)) {
    const auto manifest = ReadManifest(FileIn(CheckpointPath(folder, number), kManifestFile));
    if (!manifest.ok()) continue;
    const v1::CheckpointFacts& facts = manifest->checkpoint();
    if (!lineage) lineage = facts.lineage();
    if (facts.lineage() != *lineage) continue;
    found.push_back({.number = number, .id = manifest->id(), .logloss = std::nullopt});
    if (facts.has_test_logloss()) found.back().logloss = facts.test_logloss();
  }
  return found;
}

// The number of the one with the least test logloss, the oldest of equals; 0: none was evaluated.
uint64_t BestOf(const std::vector<Found>& lineage) {
  uint64_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const Found& found : lineage) {
    if (!found.logloss || *found.logloss > least) continue;
    least = *found.logloss;
    best = found.number;
  }
  return best;
}

// Of this run, which has one at a time: all up to the newest that is whole.
void RemoveLeftAside(const std::string& folder, uint64_t newest, uint64_t run) {
  const std::string suffix = FolderOfRun("", run);
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    std::string name = entry->path().filename().string();
    if (!name.ends_with(suffix)) continue;
    name.resize(name.size() - suffix.size());
    const auto number = NumberOf(name);
    if (number && *number <= newest) fs::remove_all(entry->path(), ignored);
  }
}

// The link is replaced at once: whoever follows it finds the one or the other.
Status PointToBest(const std::string& folder, uint64_t number) {
  const fs::path link = FileIn(folder, kBest), aside = FileIn(folder, StrCat(kBest, ".partial"));
  const fs::path target = fs::path(CheckpointPath(folder, number)).filename();
  std::error_code error;
  fs::remove(aside, error);
  fs::create_symlink(target, aside, error);
  if (!error) fs::rename(aside, link, error);
  if (!error) return OkStatus();
  return Unavailable(StrCat("cannot make ", link.string(), ": ", error.message()));
}

}  // namespace

std::string CheckpointPath(const std::string& folder, uint64_t number) {
  constexpr size_t kMostDigits = 24;
  char digits[kMostDigits];
  std::snprintf(digits, sizeof(digits), "%06llu", static_cast<unsigned long long>(number));
  return FileIn(WithoutSlashes(folder), StrCat(kCheckpoint, digits));
}

std::vector<uint64_t> CheckpointsIn(const std::string& folder) {
  std::vector<uint64_t> numbers;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (const auto number = NumberOf(entry->path().filename().string())) {
      numbers.push_back(*number);
    }
  }
  std::sort(numbers.rbegin(), numbers.rend());
  return numbers;
}

Result<uint64_t> LastCheckpoint(const std::string& folder) {
  std::error_code error;
  const fs::directory_iterator begin(folder, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    return Unavailable(
        StrCat("cannot read the folder of checkpoints ", folder, ": ", error.message()));
  }
  const std::vector<uint64_t> numbers = CheckpointsIn(folder);
  return numbers.empty() ? 0 : numbers.front();
}

Result<std::unique_ptr<FolderClaim>> ClaimCheckpoints(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return Unavailable(
        StrCat("cannot make the folder of checkpoints ", folder, ": ", error.message()));
  }
  auto claim = FileSystem::Real().Claim(folder);
  if (claim.status().code() != StatusCode::kFailedPrecondition) return claim;
  return FailedPrecondition(StrCat("another run has its checkpoints in ", folder,
                                   " and is at work; name a folder for each"));
}

Result<RunParts> ReadProgressFor(const v1::Config& config, const SavedModel& checkpoint) {
  if (config::HashPlaces(config.data()) != config::HashPlaces(checkpoint.config().data())) {
    return InvalidConfig(StrCat("--resume: ", checkpoint.directory(),
                                " is of a run on other data, or cut otherwise (the reader, "
                                "data.batch_size * data.chunk_batches, data.epochs, data.shuffle, "
                                "whether there is data.test); name that config; or begin another "
                                "run, elsewhere, or with --warm_start"));
  }
  return ReadProgress(checkpoint.directory(), checkpoint.manifest().checkpoint());
}

Status TidyCheckpoints(const std::string& folder, const Tidying& tidying) {
  const std::vector<Found> lineage = FindLineage(folder);
  const uint64_t best = BestOf(lineage);
  std::error_code ignored;
  for (size_t i = tidying.keep; i < lineage.size(); ++i) {
    const bool stays = lineage[i].number == best || lineage[i].id == tidying.begun_with;
    if (!stays) fs::remove_all(CheckpointPath(folder, lineage[i].number), ignored);
  }
  if (!lineage.empty()) RemoveLeftAside(folder, lineage.front().number, tidying.run);
  return best == 0 ? OkStatus() : PointToBest(folder, best);
}

}  // namespace weir::saved_model
