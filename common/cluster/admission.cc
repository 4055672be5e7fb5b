#include "common/cluster/admission.h"

#include <algorithm>
#include <string>

#include "common/base/strings.h"

namespace weir::cluster {
namespace {

std::string StageCountText(uint32_t count) {
  return count == 1 ? "the whole model" : "one stage of it";
}

// A worker that says nothing of it has the whole model.
uint32_t StageCount(const v1::Join& join) { return std::max(1u, join.stage_count()); }

}  // namespace

Admission::Files Admission::FilesOf(const v1::Join& join) {
  return {join.train_files(), static_cast<uint32_t>(join.file_bytes_size()) - join.train_files()};
}

Status Admission::Check(const v1::Join& join, bool has_members) const {
  WEIR_RETURN_IF_ERROR(CheckStage(join));
  return CheckFiles(join, has_members);
}

void Admission::Take(const v1::Join& join, bool is_alone) {
  stage_count_ = StageCount(join);
  if (!is_alone) return;
  file_bytes_ = {join.file_bytes().begin(), join.file_bytes().end()};
  train_file_count_ = join.train_files();
}

Status Admission::CheckStage(const v1::Join& join) const {
  const uint32_t stage_count = StageCount(join);
  if (stage_count != 1 && stage_count != config_stages_) {
    return FailedPrecondition(
        StrCat("a model of ", stage_count, " stages; the config has ", config_stages_));
  }
  if (join.stage() >= stage_count) {
    return FailedPrecondition(StrCat("there is no stage ", join.stage(),
                                     ": the model has stages 0 to ", stage_count - 1));
  }
  if (stage_count_ != 0 && stage_count != stage_count_) {
    return FailedPrecondition(StrCat("the other workers of this run have ",
                                     StageCountText(stage_count_), " each, this one ",
                                     StageCountText(stage_count), "; give all a --stage or none"));
  }
  if (join.stage() > 0 && join.link_address().empty()) {
    return FailedPrecondition(
        StrCat("stage ", join.stage(), " does not say where it is to be found"));
  }
  return OkStatus();
}

// Trainers are lent chunks of files that each reads for itself: rows of a file that ends elsewhere
// at one of them would be trained by nobody.
Status Admission::CheckFiles(const v1::Join& join, bool has_members) const {
  const auto file_count = static_cast<size_t>(join.file_bytes_size());
  const size_t train_count = join.train_files();
  if (train_count > file_count || (file_count > 0 && train_count == 0)) {
    return FailedPrecondition(
        StrCat("it reads ", file_count, " files, ", train_count, " of them to train on"));
  }
  if (!has_members) return OkStatus();
  if (file_count != file_bytes_.size() || train_count != train_file_count_) {
    return FailedPrecondition(StrCat("it reads ", train_count, " files to train on and ",
                                     file_count - train_count,
                                     " to test on, the workers that are here ", train_file_count_,
                                     " and ", file_bytes_.size() - train_file_count_));
  }
  for (size_t i = 0; i < file_count; ++i) {
    const uint64_t bytes = join.file_bytes(static_cast<int>(i));
    if (bytes == file_bytes_[i]) continue;
    const bool is_train = i < train_count;
    return FailedPrecondition(
        StrCat(is_train ? "data.train[" : "data.test[", is_train ? i : i - train_count, "] has ",
               bytes, " bytes here and ", file_bytes_[i],
               " at the workers that are here: all must read the same files"));
  }
  return OkStatus();
}

}  // namespace weir::cluster
