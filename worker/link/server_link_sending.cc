// What goes to the servers, heartbeats above all: of the I/O thread.

#include <algorithm>
#include <utility>

#include "common/base/strings.h"
#include "common/session/header_message.h"
#include "worker/link/server_link.h"

namespace weir::worker {
namespace {

constexpr int64_t kHeartbeatMs = 1000;
// While the stages of a trainer do not agree yet that batches may start.
constexpr int64_t kGatheringHeartbeatMs = 50;

}  // namespace

// A worker that waits for something to do has said so: the reply is a word of the coordinator, and
// comes as soon as the run has failed. One that is late may be lost. Stages have to say what they
// have adopted.
void ServerLink::SendHeartbeat(int64_t now_ms) {
  next_heartbeat_ms_ = now_ms + (pipeline_is_ready_ ? kHeartbeatMs : kGatheringHeartbeatMs);
  if (run_is_over_ || !peers_[0].session->ready()) return;
  {
    MutexLock lock(mutex_);
    const int64_t held_ms = session::SilenceMs(config_.cluster().answer_timeout_ms()) / 2;
    const bool waits =
        outstanding_.exchange_since_ms().value_or(now_ms - held_ms) > now_ms - held_ms;
    if (waits && options_.stage_count == 1) return;
    outstanding_.AddHeartbeat(now_ms);
  }
  v1::Header header;
  v1::Heartbeat& heartbeat = *header.mutable_heartbeat();
  heartbeat.set_adopted_generation(adopted_generation_);
  heartbeat.set_awaited_next(awaited_next_);
  heartbeat.set_lost_generation(lost_generation_);
  *heartbeat.mutable_speaker() = Speaker();
  Send(0, header, {});
}

// Threads tell in any order; the coordinator waits for the last generation to be adopted.
void ServerLink::TellAdopted(uint64_t generation, bool awaited_next) {
  Post([this, generation, awaited_next] {
    if (generation <= adopted_generation_) return;
    adopted_generation_ = generation;
    awaited_next_ = awaited_next;
    next_heartbeat_ms_ = 0;
  });
}

void ServerLink::TellLost(uint64_t generation) {
  Post([this, generation] {
    lost_generation_ = std::max(lost_generation_, generation);
    next_heartbeat_ms_ = 0;
  });
}

// The coordinator waits for it before it goes, so that nobody is left asking.
void ServerLink::SayFarewell() {
  run_is_over_ = true;
  {
    MutexLock lock(mutex_);
    outstanding_.ForgetHeartbeats();
  }
  v1::Header header;
  *header.mutable_leave()->mutable_speaker() = Speaker();
  Send(0, header, {});
}

// get() is called under the lock. Without a session the request leaves once there is one.
void ServerLink::SendRequest(size_t server, const std::function<std::optional<Request>()>& get) {
  std::optional<Request> request;
  {
    MutexLock lock(mutex_);
    request = get();
  }
  if (request && peers_[server].session->ready()) Send(server, *std::move(request));
}

// A proposal is kept with the pushes, and so is of a connection.
void ServerLink::Send(size_t server, Request request) {
  if (request.header.has_proposal()) {
    request.header.mutable_proposal()->set_connection(peers_[server].session->connection());
  }
  Send(server, request.header, request.body);
}

v1::Speaker ServerLink::Speaker() const {
  v1::Speaker speaker;
  speaker.set_trainer(options_.trainer);
  speaker.set_stage(options_.stage);
  speaker.set_incarnation(incarnation_);
  speaker.set_run(run_);
  return speaker;
}

void ServerLink::Send(size_t server, const v1::Header& header, const Body& body) {
  const transport::Message message = session::MakeMessage(header, body);
  const Status status = transport_->Send(peers_[server].connection, message);
  if (status.ok()) {
    meter_.AddSent(message);
  } else if (status.code() == StatusCode::kFailedPrecondition) {
    Fail(FailedPrecondition(StrCat("to ", PeerName(server), ": ", status.message())));
  }  // else a full queue, as good as a lost message: whatever is owed is asked for again
}

}  // namespace weir::worker
