#include "common/saved_model/checkpoint_choice.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/saved_model/checkpoint_folder.h"
#include "common/saved_model/manifest.h"
#include "common/saved_model/places.h"
#include "common/saved_model/policy_states.h"
#include "common/saved_model/saved_model.h"

namespace weir::saved_model {
namespace {

namespace fs = std::filesystem;

Status CheckResiduals(const SavedModel& model) {
  for (const v1::SeatOfResiduals& seat : model.manifest().checkpoint().residuals()) {
    const std::string folder = model.residuals_folder();
    WEIR_ASSIGN_OR_RETURN(const std::vector<uint32_t> trainers, TrainersWithStates(folder));
    if (std::ranges::find(trainers, seat.trainer()) == trainers.end()) {
      return InvalidData(StrCat(folder, " lacks the file of trainer ", seat.trainer()));
    }
    WEIR_RETURN_IF_ERROR(
        VisitPolicyStates(folder, seat.trainer(), model.manifest().run(),
                          [](const v1::PolicyStateHeader&, ByteSpan) { return OkStatus(); }));
  }
  return OkStatus();
}

// Every byte, where there are others to take instead: else whoever loads it finds what is damaged.
Status CheckBytes(const SavedModel& model) {
  WEIR_RETURN_IF_ERROR(
      model.Visit({.piece = [](const SavedPiece&) {}, .rows = [](const SavedRows&) {}}));
  return CheckResiduals(model);
}

Status CheckWhole(const std::string& checkpoint, bool has_others) {
  WEIR_ASSIGN_OR_RETURN(const auto model, SavedModel::Open(checkpoint));
  if (!model->manifest().has_checkpoint()) {
    return InvalidData(StrCat(checkpoint,
                              " is a saved model and no checkpoint of a run: name it "
                              "with --warm_start to begin another run with it"));
  }
  WEIR_RETURN_IF_ERROR(ReadProgress(checkpoint, model->manifest().checkpoint()).status());
  return has_others ? CheckBytes(*model) : OkStatus();
}

bool IsCheckpoint(const std::string& path) {
  std::error_code error;
  return fs::exists(FileIn(path, kManifestFile), error);
}

// Of that id; empty: there is none.
std::string CheckpointOf(const std::string& folder, uint64_t id) {
  for (const uint64_t number : CheckpointsIn(folder)) {
    std::string checkpoint = CheckpointPath(folder, number);
    const auto manifest = ReadManifest(FileIn(checkpoint, kManifestFile));
    if (manifest.ok() && manifest->id() == id) return checkpoint;
  }
  return "";
}

}  // namespace

Result<std::string> FindCheckpoint(const std::string& path) {
  if (IsCheckpoint(path)) {
    WEIR_RETURN_IF_ERROR(CheckWhole(path, false));
    return path;
  }
  std::vector<std::string> problems;
  for (const uint64_t number : CheckpointsIn(path)) {
    const std::string checkpoint = CheckpointPath(path, number);
    const Status whole = CheckWhole(checkpoint, true);
    if (whole.ok() && !problems.empty()) {
      LOG(WARNING) << StrJoin(problems, "; ") << "; takes the one before it, " << checkpoint;
    }
    if (whole.ok()) return checkpoint;
    problems.push_back(whole.message());
  }
  if (problems.empty()) return InvalidData(StrCat(path, " holds no checkpoint"));
  return InvalidData(StrJoin(problems, "; "));
}

Result<std::string> ChooseCheckpoint(const CheckpointChoice& choice) {
  if (IsCheckpoint(choice.path)) return FindCheckpoint(choice.path);
  if (choice.may_be_none && choice.begun_with == 0) return std::string();
  if (choice.begun_with) {
    const std::string wanted = CheckpointOf(choice.path, *choice.begun_with);
    if (!wanted.empty()) return FindCheckpoint(wanted);
  }
  WEIR_ASSIGN_OR_RETURN(const uint64_t last, LastCheckpoint(choice.path));
  if (choice.may_be_none && last == 0) return std::string();
  return FindCheckpoint(choice.path);
}

}  // namespace weir::saved_model
