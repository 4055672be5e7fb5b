#include "server/checkpoint_saving.h"

#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::server {
namespace {

// For the one before, which is given up by now, to do what it has begun.
constexpr int64_t kGiveUpMs = 100;

}  // namespace

// Of that one goes what no checkpoint was made of.
bool CheckpointSaving::EndOneBefore() {
  if (saving_ && !saving_->End(kGiveUpMs)) return false;
  std::unique_ptr<Saving> before;
  MutexLock lock(mutex_);
  before = std::move(saving_);
  return true;
}

void CheckpointSaving::Open(uint64_t number, uint64_t run) {
  if (!EndOneBefore()) {
    MutexLock lock(mutex_);
    open_failure_ = Unavailable(StrCat("an earlier one is still being written: the disk of ",
                                       options_.folder, " does not answer"));
    number_ = number;
    return;
  }
  auto saving = std::make_unique<Saving>(saved_model::CheckpointPath(options_.folder, number),
                                         options_.server, options_.server_count, options_.executor,
                                         options_.wake);
  Status prepared = saving->Prepare(run);
  MutexLock lock(mutex_);
  saving_ = std::move(saving);
  open_failure_ = std::move(prepared);
  number_ = number;
  run_ = run;
}

Status CheckpointSaving::MakeFolder(uint64_t number, uint64_t run) {
  Open(number, run);
  return open_failure_;
}

void CheckpointSaving::Begin(uint64_t number, uint64_t run, Shard* shard) {
  if (number <= begun_number_ || number < number_) return;  // a late word of one that is given up
  if (number != number_) Open(number, run);
  begun_number_ = number;
  if (open_failure_.ok()) saving_->Begin(shard);
}

void CheckpointSaving::Step() {
  if (saving_) saving_->Step();
}

std::optional<v1::PartReport> CheckpointSaving::part() const {
  MutexLock lock(mutex_);
  if (!saving_) return std::nullopt;
  auto part = saving_->part();
  Status failure = open_failure_.ok() ? saving_->failure() : open_failure_;
  if (!part && failure.ok()) return std::nullopt;
  if (!part) part.emplace();
  part->set_checkpoint(number_);
  part->set_failure(failure.message());
  return part;
}

void CheckpointSaving::Conclude(v1::SavedModelManifest manifest, saved_model::RunParts run) {
  const auto progress = [run = std::move(run)](const std::string& folder,
                                               v1::SavedModelManifest* of) {
    WEIR_ASSIGN_OR_RETURN(const uint64_t checksum, saved_model::WriteProgress(folder, run));
    of->mutable_checkpoint()->set_progress_checksum(checksum);
    return OkStatus();
  };
  const auto tidy = [this, number = number_, of_run = run_] {
    const Status tidied = saved_model::TidyCheckpoints(
        options_.folder, {.keep = options_.keep, .run = of_run, .begun_with = options_.begun_with});
    if (!tidied.ok()) LOG(WARNING) << tidied.message();
    LOG(INFO) << "checkpoint " << number << " is in "
              << saved_model::CheckpointPath(options_.folder, number);
  };
  saving_->Conclude(std::move(manifest), progress, tidy);
}

}  // namespace weir::server
