// Trainers that join a coordinator and ask it for work.
#pragma once

#include <optional>

#include "common/session/run_identity.h"
#include "server/coordinator/coordinator.h"
#include "tests/server/server_test_support.h"

namespace weir::server {

inline void JoinAs(uint32_t trainer, const v1::Config& config, Coordinator* coordinator) {
  v1::Join join;
  *join.mutable_identity() = session::MakeRunIdentity(config, 1);
  join.set_trainer(trainer);
  join.set_nonce(trainer + 1);
  CHECK(coordinator->OnJoin(join, 1000).has_join_reply());
}

inline v1::WorkRequest WaitingRequest(uint64_t id) {
  v1::WorkRequest request;
  request.set_request_id(id);
  request.set_may_wait(true);
  return request;
}

inline std::optional<v1::Header> AskAs(uint32_t trainer, v1::WorkRequest request,
                                       const transport::PeerId& peer, int64_t now_ms,
                                       Coordinator* coordinator) {
  request.mutable_speaker()->set_trainer(trainer);
  request.mutable_speaker()->set_incarnation(1);
  request.mutable_speaker()->set_run(coordinator->run());
  return coordinator->OnWorkRequest(request, MakeParts({}, {}), peer, now_ms);
}

}  // namespace weir::server
