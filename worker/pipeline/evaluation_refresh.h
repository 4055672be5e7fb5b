// Before a later stage scores the first test batch of an evaluation its replica is made what the
// servers have. All that was trained is in it by then: the coordinator has waited for every stage
// to push what it had (server/coordinator/coordinator.h).
//
// Place in the life of a batch: last training batch -> **refresh** -> first test batch.
// Thread rule: any thread; threads that meet it wait for it. Borrows client.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "worker/client/parameter_client.h"

namespace weir::worker {

class EvaluationRefresh {
 public:
  explicit EvaluationRefresh(ParameterClient* client) : client_(client) {}

  // Does nothing for a batch that is not the first of an evaluation.
  Status RefreshFor(const v1::BatchName& name) {
    if (name.split() != v1::TEST) return OkStatus();
    std::lock_guard lock(mutex_);
    if (refreshed_for_ == name.evaluation()) return OkStatus();
    WEIR_RETURN_IF_ERROR(client_->Refresh());
    refreshed_for_ = name.evaluation();
    return OkStatus();
  }

 private:
  ParameterClient* const client_;
  std::mutex mutex_;
  std::optional<uint32_t> refreshed_for_;  // the evaluation
};

}  // namespace weir::worker
