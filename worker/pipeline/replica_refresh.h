// A later stage's replica changes by the answers to its own pushes, so it grows old while the stage
// waits. It is made what the servers have when the first stage's is: before the first batch of each
// evaluation, when all that was trained is in it (the coordinator has waited for every stage to
// push what it had, server/coordinator/coordinator.h), and before the first one of a chunk that its
// trainer begins with.
//
// Place in the life of a batch: wait -> **refresh** -> first batch.
// Thread rule: any thread; threads that meet it wait for it. Borrows client.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "worker/client/parameter_client.h"

namespace weir::worker {

class ReplicaRefresh {
 public:
  explicit ReplicaRefresh(ParameterClient* client) : client_(client) {}

  // Does nothing for a batch that is not the first of its kind.
  Status RefreshFor(const v1::BatchName& name) {
    MutexLock lock(mutex_);
    if (refreshed_for_ && !IsOldFor(name)) return OkStatus();
    WEIR_RETURN_IF_ERROR(client_->Refresh());
    refreshed_for_ = name;
    return OkStatus();
  }

 private:
  bool IsOldFor(const v1::BatchName& name) const WEIR_REQUIRES(mutex_) {
    if (name.split() != refreshed_for_->split()) return true;
    if (name.split() == v1::TEST) return name.evaluation() != refreshed_for_->evaluation();
    return name.begun_by() != 0 && name.begun_by() != refreshed_for_->begun_by();
  }

  ParameterClient* const client_;
  Mutex mutex_;
  std::optional<v1::BatchName> refreshed_for_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::worker
