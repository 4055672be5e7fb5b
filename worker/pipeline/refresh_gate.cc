#include "worker/pipeline/refresh_gate.h"

namespace weir::worker {

Status RefreshGate::RefreshFor(const v1::BatchName& name) {
  if (name.split() != v1::TEST) return OkStatus();
  std::lock_guard lock(refresh_mutex_);
  if (refreshed_for_ == name.evaluation()) return OkStatus();
  {
    std::unique_lock wait(mutex_);
    changed_.wait(wait, [this] { return stopping_ || training_count_ == 0; });
  }
  WEIR_RETURN_IF_ERROR(client_->Refresh());
  refreshed_for_ = name.evaluation();
  return OkStatus();
}

void RefreshGate::Stop() {
  std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

void RefreshGate::AddTraining(int change) {
  std::lock_guard lock(mutex_);
  training_count_ += change;
  changed_.notify_all();
}

}  // namespace weir::worker
