#include "worker/link/joining.h"

#include <algorithm>

#include "common/base/strings.h"
#include "common/session/header_message.h"
#include "common/session/loading.h"
#include "worker/link/loading_notice.h"

namespace weir::worker {
namespace {

constexpr int64_t kReceiveMs = 20;
constexpr int64_t kRetryMs = 300;
// How long a seat is still asked for once it should have become free.
constexpr int64_t kFreeSeatMs = 2000;

transport::Message JoinMessage(const JoinOptions& options) {
  v1::Header header;
  v1::Join& join = *header.mutable_join();
  *join.mutable_identity() = options.identity;
  join.set_trainer(options.trainer);
  join.set_stage(options.stage);
  join.set_stage_count(options.stage_count);
  join.set_link_address(options.link_address);
  join.set_saves(options.saves);
  join.set_stays(options.stays);
  join.set_awaits_model(options.awaits_model);
  join.mutable_file_bytes()->Assign(options.file_bytes.begin(), options.file_bytes.end());
  join.set_train_files(options.train_files);
  // Tells this process from another that wants the same seat.
  join.set_nonce(options.environment.nonce());
  return session::MakeMessage(header);
}

}  // namespace

Result<v1::JoinReply> JoinRun(const JoinOptions& options, transport::ConnectionId coordinator,
                              transport::ClientTransport* transport, WireMeter* meter,
                              const std::function<Status()>& failure) {
  AwakeClock clock(options.environment.clock);
  const transport::Message join = JoinMessage(options);
  const int64_t started_ms = clock.NowMs();
  int64_t deadline_ms = started_ms + options.timeout_ms;
  bool seat_was_taken = false;
  std::string reason = "is weir-server running there, and are host and port right and open?";
  int64_t next_ms = 0;
  session::LoadingWatch watch;
  LoadingNotice notice;
  while (clock.Look() < deadline_ms) {
    WEIR_RETURN_IF_ERROR(failure());
    if (clock.NowMs() >= next_ms) {
      const Status sent = transport->Send(coordinator, join);
      // A full queue has this request many times over.
      if (!sent.ok() && sent.code() != StatusCode::kResourceExhausted) return sent;
      if (sent.ok()) meter->AddSent(join);
      next_ms = clock.NowMs() + kRetryMs;
    }
    const auto incoming = transport->Receive(kReceiveMs);
    if (!incoming) continue;
    meter->AddReceived(incoming->message);
    const auto reply = session::ParseHeader(incoming->message);
    if (!reply) continue;
    if (reply->has_join_reply()) return reply->join_reply();
    if (!reply->has_refusal()) continue;
    reason = StrCat("refuses: ", reply->refusal().reason());
    if (!reply->refusal().retry()) {
      std::string message = StrCat(options.coordinator_name, " ", reason);
      return reply->refusal().finished_well() ? TooLate(std::move(message))
                                              : FailedPrecondition(std::move(message));
    }
    reason = StrCat("it ", reason);
    if (reply->refusal().has_loading()) {
      notice.Tell(reply->refusal().reason(), clock.NowMs());
      reason = StrCat("nothing new was heard for ", options.timeout_ms,
                      " ms (cluster.connect_timeout_ms) but: ", reply->refusal().reason());
      if (watch.HasProgressed(reply->refusal().loading())) {
        deadline_ms = std::max(deadline_ms, clock.NowMs() + options.timeout_ms);
      }
    }
    // Of a process that is gone, perhaps, whose place this one is to take.
    if (!seat_was_taken && reply->refusal().wait_ms() > 0) {
      seat_was_taken = true;
      const int64_t free_ms =
          clock.NowMs() + std::min(reply->refusal().wait_ms(), options.member_timeout_ms);
      deadline_ms = std::max(deadline_ms, free_ms + kFreeSeatMs);
    }
  }
  return DeadlineExceeded(StrCat("could not join the run through ", options.coordinator_name,
                                 " within ", deadline_ms - started_ms, " ms; ", reason));
}

}  // namespace weir::worker
