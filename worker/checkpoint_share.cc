#include "worker/checkpoint_share.h"

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/saved_model/checkpoint_folder.h"
#include "common/saved_model/policy_states.h"
#include "common/saved_model/writer.h"

namespace weir::worker {
namespace {

// For the one before, and for the last, to be written: a disk that answers does by then.
constexpr int64_t kNextMs = 100, kEndMs = 2000;

Status WriteShare(const std::string& folder, const CheckpointShare::Owner& owner, uint64_t number,
                  const saved_model::KeptStates& states) {
  const std::string checkpoint =
      saved_model::FolderOfRun(saved_model::CheckpointPath(folder, number), owner.run);
  return saved_model::WritePolicyStates(
      saved_model::ResidualsFolder(checkpoint),
      {.trainer = owner.trainer, .stage = owner.stage, .run = owner.run},
      [&states](const saved_model::TakeState& take) {
        for (const auto& [header, state] : states) WEIR_RETURN_IF_ERROR(take(header, state));
        return OkStatus();
      });
}

}  // namespace

CheckpointShare::~CheckpointShare() {
  if (!writing_ || writing_->EndsWithin(kEndMs)) return;
  LOG(WARNING) << "this worker's share of a checkpoint is not written: the disk of " << folder_
               << " does not answer";
}

Status CheckpointShare::Take(uint64_t number, ParameterClient* client) {
  if (number == number_) return OkStatus();
  const bool is_held_up = writing_ && !writing_->EndsWithin(kNextMs);
  number_ = number;
  word_ = std::make_shared<Word>(number);
  WEIR_ASSIGN_OR_RETURN(auto states, client->PutAside(number));
  if (!states) {
    Say(word_.get(), OkStatus());
  } else if (folder_.empty()) {
    Say(word_.get(),
        FailedPrecondition("was started without --checkpoints, which the servers have"));
  } else if (is_held_up) {
    Say(word_.get(), Unavailable(StrCat("its share of an earlier one is still being written: the "
                                        "disk of ",
                                        folder_, " does not answer")));
  } else {
    writing_ = Executor::Threads().Begin(
        [word = word_, folder = folder_, owner = owner_, number, states = *std::move(states)] {
          Say(word.get(), WriteShare(folder, owner, number, states));
        });
  }
  return OkStatus();
}

void CheckpointShare::Say(Word* word, const Status& written) {
  MutexLock lock(word->mutex);
  word->told.set_is_written(true);
  word->told.set_failure(written.message());
}

std::optional<CheckpointShare::Stop> CheckpointShare::GoOn() {
  if (std::exchange(stopped_for_, number_) == number_ || !rests_since_) return std::nullopt;
  return Stop{.number = number_, .seconds = MonotonicSeconds() - *rests_since_};
}

// A request is repeated until it is answered, so what is told is heard.
void CheckpointShare::AddWord(v1::WorkRequest* request) {
  if (wishes_ != nullptr && wishes_->wants_one.exchange(false)) request->set_wants_checkpoint(true);
  if (!has_news()) return;
  MutexLock lock(word_->mutex);
  *request->mutable_checkpoint() = word_->told;
  if (!word_->told.is_written()) return;
  told_ = number_;
  if (wishes_ != nullptr) wishes_->written = number_;
}

}  // namespace weir::worker
