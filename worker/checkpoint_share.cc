#include "worker/checkpoint_share.h"

#include "common/saved_model/checkpoint_folder.h"
#include "common/saved_model/policy_states.h"
#include "common/saved_model/writer.h"

namespace weir::worker {

CheckpointShare::~CheckpointShare() {
  if (thread_.joinable()) thread_.join();
}

Status CheckpointShare::Take(uint64_t number, ParameterClient* client) {
  if (number == number_) return OkStatus();
  if (thread_.joinable()) thread_.join();
  number_ = number;
  {
    std::lock_guard lock(mutex_);
    word_.Clear();
    word_.set_number(number);
  }
  WEIR_ASSIGN_OR_RETURN(saved_model::KeptStates states, client->PutAside(number));
  if (folder_.empty()) {
    Say(FailedPrecondition("was started without --checkpoints, which the servers have"));
    return OkStatus();
  }
  thread_ = std::thread([this, states = std::move(states)] { Write(states); });
  return OkStatus();
}

void CheckpointShare::Write(const saved_model::KeptStates& states) {
  const std::string checkpoint =
      saved_model::FolderOfRun(saved_model::CheckpointPath(folder_, number_), owner_.run);
  Say(saved_model::WritePolicyStates(
      saved_model::ResidualsFolder(checkpoint),
      {.trainer = owner_.trainer, .stage = owner_.stage, .run = owner_.run},
      [&states](const saved_model::TakeState& take) {
        for (const auto& [header, state] : states) WEIR_RETURN_IF_ERROR(take(header, state));
        return OkStatus();
      }));
}

void CheckpointShare::Say(const Status& written) {
  std::lock_guard lock(mutex_);
  word_.set_is_written(true);
  word_.set_failure(written.message());
}

// A request is repeated until it is answered, so what is told is heard.
void CheckpointShare::AddWord(v1::WorkRequest* request) {
  if (wishes_ != nullptr && wishes_->wants_one.exchange(false)) request->set_wants_checkpoint(true);
  if (!has_news()) return;
  std::lock_guard lock(mutex_);
  *request->mutable_checkpoint() = word_;
  if (!word_.is_written()) return;
  told_ = number_;
  if (wishes_ != nullptr) wishes_->written = number_;
}

}  // namespace weir::worker
