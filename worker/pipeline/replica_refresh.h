// A later stage's replica changes by the answers to its own pushes, so it grows old while the stage
// waits. It is made what the servers have before the first batch of each evaluation, when all that
// was trained is in it (the coordinator has waited for every stage to push what it had,
// server/coordinator/coordinator.h), and before the first one to train on.
//
// Place in the life of a batch: wait -> **refresh** -> first batch.
// Thread rule: any thread; threads that meet it wait for it. Borrows client.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "worker/client/parameter_client.h"

namespace weir::worker {

class ReplicaRefresh {
 public:
  explicit ReplicaRefresh(ParameterClient* client) : client_(client) {}

  // Does nothing for a batch that is not the first of its kind.
  Status RefreshFor(const v1::BatchName& name) {
    const Kind kind{name.split(), name.split() == v1::TEST ? name.evaluation() : 0};
    std::lock_guard lock(mutex_);
    if (refreshed_for_ == kind) return OkStatus();
    WEIR_RETURN_IF_ERROR(client_->Refresh());
    refreshed_for_ = kind;
    return OkStatus();
  }

 private:
  struct Kind {
    v1::InputSplit split;
    uint32_t evaluation;
    bool operator==(const Kind&) const = default;
  };

  ParameterClient* const client_;
  std::mutex mutex_;
  std::optional<Kind> refreshed_for_;
};

}  // namespace weir::worker
