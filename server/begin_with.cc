#include "server/begin_with.h"

#include <memory>
#include <utility>

#include "common/base/check.h"
#include "common/saved_model/checkpoint_choice.h"
#include "common/saved_model/checkpoint_folder.h"
#include "common/saved_model/places.h"
#include "common/saved_model/saved_model.h"
#include "common/saved_model/warm_start.h"
#include "server/log/data_folder.h"

namespace weir::server {
namespace {

// Empty: the parameters are the initial ones.
Result<std::string> Checkpoint(const Beginning& beginning) {
  saved_model::CheckpointChoice choice{.path = beginning.resume};
  choice.may_be_none = saved_model::IsSameFolder(beginning.resume, beginning.checkpoints);
  if (!beginning.data.empty()) {
    WEIR_ASSIGN_OR_RETURN(choice.begun_with,
                          DataFolder::BegunWith(FileSystem::Real(), beginning.data));
  }
  return saved_model::ChooseCheckpoint(choice);
}

}  // namespace

Status BeginWith(const Beginning& beginning, const v1::Config& config, ServerOptions* options) {
  std::string folder = beginning.warm_start;
  const bool resumes = !beginning.resume.empty();
  if (resumes) {
    WEIR_ASSIGN_OR_RETURN(folder, Checkpoint(beginning));
  }
  if (folder.empty()) {
    if (resumes) LOG(INFO) << "begins anew: " << beginning.resume << " has no checkpoint yet";
    return OkStatus();
  }
  WEIR_ASSIGN_OR_RETURN(auto opened, saved_model::SavedModel::Open(folder));
  const std::shared_ptr<const saved_model::SavedModel> model = std::move(opened);
  if (resumes) {
    options->lineage = model->manifest().checkpoint().lineage();
    WEIR_ASSIGN_OR_RETURN(options->resumed, saved_model::ReadProgressFor(config, *model));
  }
  options->warm_start = model->manifest().id();
  options->load_bytes = model->manifest().parameter_bytes();
  options->rule_starts = saved_model::StartsOfRules(*model, config.update());
  options->learned = model->manifest().learned();
  options->load = [model, &config](Shard* shard, LoadProgress* progress) {
    return shard->Load(*model, config, progress);
  };
  return OkStatus();
}

}  // namespace weir::server
