#include "tools/local/residuals.h"

#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include "common/base/file_writer.h"
#include "common/base/strings.h"
#include "common/compress/policy_table.h"
#include "common/config/policy_rules.h"
#include "common/saved_model/checkpoint_choice.h"
#include "common/saved_model/policy_states.h"
#include "common/saved_model/saved_model.h"
#include "common/saved_model/writer.h"

namespace weir::tools {

namespace fs = std::filesystem;

namespace {

std::string FolderBeside(const LocalOptions& options) {
  if (options.save_directory.empty() || IsEmbedded(options)) return "";
  return saved_model::ResidualsAside(options.save_directory);
}

// Of the manifest; 0: there is no model that can be read.
uint64_t ModelId(const std::string& directory) {
  if (directory.empty()) return 0;
  const auto model = saved_model::SavedModel::Open(directory);
  return model.ok() ? model.value()->manifest().id() : 0;
}

// Whether a layer or table has a policy under which it cannot take over what was kept: of rows, one
// that sends all of them as they are.
bool Forgets(const v1::Config& config, const std::string& name) {
  const v1::PolicyRule& rule = config::RuleForLayer(config.compression(), name);
  if (config::IsTable(name)) return !rule.has_lazy_rows() && rule.values() != v1::BF16;
  return !compress::MakePolicy(rule)->keeps_residual();
}

// A line for each file that a trainer of several stages should have left in the folder.
std::vector<std::string> MissingStages(const std::string& folder,
                                       const std::vector<uint32_t>& trainers,
                                       const v1::Config& saved) {
  std::vector<std::string> lines;
  for (const uint32_t trainer : trainers) {
    std::error_code error;
    if (fs::exists(fs::path(folder) / saved_model::StatesFileName(trainer, std::nullopt), error)) {
      continue;
    }
    const auto stage_count = static_cast<uint32_t>(saved.pipeline().split_size()) + 1;
    for (uint32_t stage = 0; stage < stage_count; ++stage) {
      const fs::path path = fs::path(folder) / saved_model::StatesFileName(trainer, stage);
      if (fs::exists(path, error)) continue;
      lines.push_back(StrCat(path.string(),
                             " is not there: what that worker had not sent, if "
                             "anything, is lost"));
    }
  }
  return lines;
}

}  // namespace

Residuals::Residuals(const LocalOptions& options)
    : options_(options),
      beside_(FolderBeside(options)),
      earlier_model_(ModelId(options.save_directory)) {}

Residuals::~Residuals() {
  std::error_code ignored;
  if (!beside_.empty() && !is_moved_) fs::remove_all(beside_, ignored);
}

std::vector<std::string> Residuals::Losses(const v1::Config& config) const {
  const bool is_resumed = !options_.resume_directory.empty();
  const auto found = is_resumed ? saved_model::FindCheckpoint(options_.resume_directory)
                                : Result<std::string>(options_.warm_start_directory);
  if (!found.ok() || found->empty()) return {};
  const auto model = saved_model::SavedModel::Open(*found);
  if (!model.ok()) return {};  // workers say what is wrong with it
  const std::string folder = model.value()->residuals_folder();
  const auto trainers = saved_model::TrainersWithStates(folder);
  if (!trainers.ok()) return {trainers.status().message()};
  const v1::SavedModelManifest& manifest = model.value()->manifest();
  std::vector<std::string> losses = MissingStages(folder, trainers.value(), manifest.config());
  std::vector<std::string> absent;
  std::set<std::string> forgotten;
  for (const uint32_t trainer : trainers.value()) {
    const bool is_here =
        !IsEmbedded(options_) && static_cast<int64_t>(trainer) < options_.trainer_count;
    bool has_unsent = false;
    const Status read = saved_model::VisitPolicyStates(
        folder, trainer, manifest.run(), [&](const v1::PolicyStateHeader& header, ByteSpan) {
          has_unsent |= header.has_unsent();
          if (is_here && header.has_unsent() && Forgets(config, header.name())) {
            forgotten.insert(header.name());
          }
          return OkStatus();
        });
    if (!read.ok()) losses.push_back(read.message());
    if (has_unsent && !is_here) absent.push_back(StrCat("trainer-", trainer));
  }
  if (!absent.empty()) {
    losses.push_back(StrCat("what ", StrJoin(absent, ", "),
                            " of the run before had not sent is lost: ",
                            IsEmbedded(options_) ? "embedded training sends nothing"
                                                 : "this run has no trainer of that number"));
  }
  if (!forgotten.empty()) {
    losses.push_back(StrCat("what the run before had not sent of ",
                            StrJoin({forgotten.begin(), forgotten.end()}, ", "),
                            " is lost: their rules keep nothing back now"));
  }
  return losses;
}

bool Residuals::BelongTo(const std::string& directory) const {
  const auto model = saved_model::SavedModel::Open(directory);
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

bool Residuals::HasModelCome() const {
  const uint64_t model = ModelId(options_.save_directory);
  return model != 0 && model != earlier_model_;
}

Status Residuals::Move(std::string* missing) {
  missing->clear();
  if (beside_.empty()) return OkStatus();
  if (!BelongTo(options_.save_directory)) {
    for (const std::string& model : saved_model::PartialModels(options_.save_directory)) {
      if (!BelongTo(model)) continue;
      is_moved_ = true;
      return Unavailable(StrCat("what trainers had not sent is in ", beside_, "; make it ",
                                saved_model::ResidualsFolder(model), ", of the model in ", model));
    }
    const auto left = saved_model::TrainersWithStates(beside_);
    if (HasModelCome() && left.ok() && left.value().empty()) *missing = MissingText();
    return OkStatus();
  }
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
