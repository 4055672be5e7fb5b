#include "tools/local/residuals.h"

#include <unistd.h>

#include <filesystem>
#include <vector>

#include "common/base/strings.h"
#include "common/saved_model/policy_states.h"
#include "common/saved_model/saved_model.h"

namespace weir::tools {

namespace fs = std::filesystem;

std::string ResidualsBeside(const LocalOptions& options) {
  if (options.save_directory.empty() || IsEmbedded(options)) return "";
  std::string beside = options.save_directory;
  while (beside.size() > 1 && beside.back() == '/') beside.pop_back();
  return StrCat(beside, ".residuals-", static_cast<int64_t>(getpid()));
}

Residuals::~Residuals() {
  const std::string beside = ResidualsBeside(options_);
  std::error_code ignored;
  if (!beside.empty() && !is_moved_) fs::remove_all(beside, ignored);
}

std::string Residuals::LostText() const {
  if (options_.warm_start_directory.empty()) return "";
  std::vector<std::string> lost;
  for (const uint32_t trainer : saved_model::TrainersWithStates(
           saved_model::ResidualsFolder(options_.warm_start_directory))) {
    if (IsEmbedded(options_) || static_cast<int64_t>(trainer) >= options_.trainer_count) {
      lost.push_back(StrCat("trainer-", trainer));
    }
  }
  if (lost.empty()) return "";
  return StrCat("what ", StrJoin(lost, ", "), " of the run before had not sent is lost: ",
                IsEmbedded(options_) ? "embedded training sends nothing"
                                     : "this run has no trainer of that number");
}

Status Residuals::Move() {
  const std::string beside = ResidualsBeside(options_);
  std::error_code error;
  if (beside.empty() || !fs::exists(beside, error)) return OkStatus();
  const std::string folder = saved_model::ResidualsFolder(options_.save_directory);
  is_moved_ = true;  // or stays where the message says
  fs::rename(beside, folder, error);
  if (!error) return OkStatus();
  return Unavailable(StrCat("what trainers had not sent is in ", beside,
                            " and cannot be renamed to ", folder, ": ", error.message()));
}

}  // namespace weir::tools
