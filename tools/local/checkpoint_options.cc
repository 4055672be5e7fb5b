#include "tools/local/checkpoint_options.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "common/base/strings.h"
#include "common/config/validate_config.h"
#include "common/saved_model/checkpoint_choice.h"
#include "common/saved_model/checkpoint_folder.h"
#include "common/saved_model/manifest.h"
#include "common/saved_model/places.h"
#include "common/saved_model/saved_model.h"

namespace weir::tools {
namespace {

// Of one that is whole.
v1::CheckpointFacts FactsOf(const std::string& checkpoint) {
  const auto manifest =
      saved_model::ReadManifest(saved_model::FileIn(checkpoint, saved_model::kManifestFile));
  return manifest.ok() ? manifest->checkpoint() : v1::CheckpointFacts();
}

// At any depth.
bool HasFiles(const std::string& folder) {
  std::error_code error;
  const std::filesystem::recursive_directory_iterator entries(folder, error);
  return !error && std::ranges::any_of(entries, [](const auto& entry) {
    std::error_code unknown;
    return entry.is_regular_file(unknown);
  });
}

// Disks may have been lost, which is no wish to begin anew.
std::string DescribeLeftBehind(const LocalOptions& options) {
  const std::string& logs = options.data_directory;
  if (logs.empty() || options.checkpoint_directory.empty() || HasFiles(logs)) return "";
  const auto found = saved_model::FindCheckpoint(options.checkpoint_directory);
  if (!found.ok() || FactsOf(*found).is_end()) return "";
  return StrCat("begins anew, as ", logs, " has no log; --resume=", *found,
                " would go on from there, behind ", FactsOf(*found).samples(), " samples");
}

}  // namespace

std::vector<std::string> CheckpointMistakes(const LocalOptions& options) {
  std::vector<std::string> mistakes;
  if (!options.resume_directory.empty() && !options.warm_start_directory.empty()) {
    mistakes.emplace_back("--resume, --warm_start: a run goes on from one of them");
  }
  const std::string around = saved_model::ModelAround(options.checkpoint_directory);
  if (!options.checkpoint_directory.empty() && !around.empty()) {
    mistakes.push_back(StrCat("--checkpoints: ", options.checkpoint_directory,
                              " lies in the saved model ", around, "; name a folder elsewhere"));
  }
  if (options.resume_directory.empty()) return mistakes;
  const auto found = saved_model::FindCheckpoint(options.resume_directory);
  if (!found.ok()) mistakes.push_back(StrCat("--resume: ", found.status().message()));
  return mistakes;
}

void FindCheckpoints(const v1::Config& config, LocalOptions* options) {
  if (options->checkpoint_directory.empty() && config::HasCheckpoints(config.run())) {
    options->checkpoint_directory = StrCat(options->out_directory, "/checkpoints");
  }
  const bool is_told = !options->resume_directory.empty() ||
                       !options->warm_start_directory.empty() || !options->data_directory.empty();
  if (options->checkpoint_directory.empty() || is_told) return;
  const auto found = saved_model::FindCheckpoint(options->checkpoint_directory);
  const bool has_any = !saved_model::CheckpointsIn(options->checkpoint_directory).empty();
  if (!found.ok() && has_any) options->resume_directory = options->checkpoint_directory;  // is told
  if (found.ok() && !FactsOf(*found).is_end()) options->resume_directory = *found;
}

std::string DescribeResumed(const LocalOptions& options) {
  if (options.resume_directory.empty()) return DescribeLeftBehind(options);
  const auto found = saved_model::FindCheckpoint(options.resume_directory);
  if (!found.ok()) return "";
  return StrCat("goes on from ", *found, ", behind ", FactsOf(*found).samples(), " samples");
}

}  // namespace weir::tools
