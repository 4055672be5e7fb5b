#include "tools/local/residuals.h"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "common/base/file_writer.h"
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

Residuals::Residuals(const LocalOptions& options)
    : options_(options), beside_(ResidualsBeside(options)) {
  std::error_code ignored;  // workers will say what is wrong with it
  if (!beside_.empty()) fs::remove_all(beside_, ignored);
}

Residuals::~Residuals() {
  std::error_code ignored;
  if (!beside_.empty() && !is_moved_) fs::remove_all(beside_, ignored);
}

std::string Residuals::LostText() const {
  if (options_.warm_start_directory.empty()) return "";
  const auto model = saved_model::SavedModel::Open(options_.warm_start_directory);
  if (!model.ok()) return "";  // workers say what is wrong with it
  const std::string folder = model.value()->residuals_folder();
  const auto trainers = saved_model::TrainersWithStates(folder);
  if (!trainers.ok()) return trainers.status().message();
  std::vector<std::string> lost;
  for (const uint32_t trainer : trainers.value()) {
    if (!IsEmbedded(options_) && static_cast<int64_t>(trainer) < options_.trainer_count) continue;
    bool has_unsent = false;
    const Status read = saved_model::VisitPolicyStates(
        folder, trainer, model.value()->manifest().run(),
        [&has_unsent](const v1::PolicyStateHeader& header, ByteSpan) {
          has_unsent |= header.has_unsent();
          return OkStatus();
        });
    if (!read.ok()) return read.message();
    if (has_unsent) lost.push_back(StrCat("trainer-", trainer));
  }
  if (lost.empty()) return "";
  return StrCat("what ", StrJoin(lost, ", "), " of the run before had not sent is lost: ",
                IsEmbedded(options_) ? "embedded training sends nothing"
                                     : "this run has no trainer of that number");
}

bool Residuals::BelongToTheModel() const {
  const auto model = saved_model::SavedModel::Open(options_.save_directory);
  const auto trainers = saved_model::TrainersWithStates(beside_);
  if (!model.ok() || !trainers.ok() || trainers.value().empty()) return false;
  return saved_model::VisitPolicyStates(
             beside_, trainers.value()[0], model.value()->manifest().run(),
             [](const v1::PolicyStateHeader&, ByteSpan) { return OkStatus(); })
      .ok();
}

std::string Residuals::MissingText() const {
  std::vector<std::string> missing;
  for (int trainer = 0; trainer < options_.trainer_count; ++trainer) {
    for (int stage = 0; stage < options_.stage_count; ++stage) {
      std::optional<uint32_t> number;
      if (options_.stage_count > 1) number = static_cast<uint32_t>(stage);
      const std::string name = saved_model::StatesFileName(static_cast<uint32_t>(trainer), number);
      std::error_code error;
      if (!fs::exists(fs::path(beside_) / name, error)) missing.push_back(name);
    }
  }
  if (missing.empty()) return "";
  return StrCat("the saved model is without ", StrJoin(missing, ", "),
                ": what they had not sent, if anything, is lost");
}

Status Residuals::Move(std::string* missing) {
  missing->clear();
  if (beside_.empty() || !BelongToTheModel()) return OkStatus();
  *missing = MissingText();
  const std::string folder = saved_model::ResidualsFolder(options_.save_directory);
  is_moved_ = true;  // or stays where the message says
  std::error_code error;
  fs::rename(beside_, folder, error);
  if (!error) return SyncFolder(options_.save_directory);
  return Unavailable(StrCat("what trainers had not sent is in ", beside_,
                            " and cannot be renamed to ", folder, ": ", error.message()));
}

}  // namespace weir::tools
