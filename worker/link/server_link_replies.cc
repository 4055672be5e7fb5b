// What servers say, and who hears of it: of the I/O thread.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/strings.h"
#include "common/session/damage.h"
#include "common/session/header_message.h"
#include "worker/link/server_link.h"

namespace weir::worker {
namespace {

// "trainer 1, trainer 3".
std::string NamesOf(const google::protobuf::RepeatedField<uint32_t>& trainers) {
  std::vector<std::string> names;
  for (const uint32_t trainer : trainers) names.push_back(StrCat("trainer ", trainer));
  return StrJoin(names, ", ");
}

}  // namespace

void ServerLink::Receive(transport::ConnectionMessage incoming) {
  meter_.AddReceived(incoming.message);
  const auto peer = std::find_if(peers_.begin(), peers_.end(), [&](const Peer& p) {
    return p.connection == incoming.connection;
  });
  if (peer == peers_.end()) return;  // a connection that was given up
  const auto server = static_cast<size_t>(peer - peers_.begin());
  const auto header = session::ParseHeader(incoming.message);
  const Status whole =
      header.ok() ? session::CheckFrames(*header, incoming.message) : header.status();
  if (!whole.ok()) return TakeDamage(server, header, whole);
  Handle(server, *header, incoming.message);
}

void ServerLink::Handle(size_t server, const v1::Header& header,
                        const transport::Message& message) {
  session::ClientSession& session = *peers_[server].session;
  switch (header.body_case()) {
    case v1::Header::kHelloReply:
      if (header.hello_reply().shard() != server) {
        return Fail(FailedPrecondition(StrCat(PeerName(server), " serves shard ",
                                              header.hello_reply().shard(),
                                              "; give all processes the same --servers list")));
      }
      TakeHelloReply(server, header.hello_reply());
      PublishTaken();
      break;
    case v1::Header::kDurableNotice:
      session.OnDurableNotice(header.durable_notice(), clock_.NowMs());
      return PublishTaken();
    case v1::Header::kRoundNotice:
      return TakeRoundNotice(server, header.round_notice());
    case v1::Header::kAnswer:
      Do(server, session.OnAnswer(header.answer(), clock_.NowMs()), &message);
      PublishTaken();
      if (!header.answer().is_catch_up()) {
        MutexLock lock(mutex_);
        staleness_.Add(header.answer().staleness());
      }
      break;
    case v1::Header::kRefusal:
      if (header.refusal().has_loading()) {
        loading_notice_.Tell(PeerName(server) + ": " + header.refusal().reason(), clock_.NowMs());
      }
      Do(server, session.OnRefusal(header.refusal(), clock_.NowMs()));
      PublishTaken();
      break;
    case v1::Header::kRowReply:
      TakeRowReply(server, header.row_reply().request_id(), message);
      break;
    case v1::Header::kAgreement:
      TakeAgreement(server, header.agreement(), message);
      break;
    case v1::Header::kProbeReply:
      TakeProbeReply(server, header.probe_reply().request_id());
      break;
    case v1::Header::kModelReply:
      TakeModelReply(server, header.model_reply(), message);
      break;
    case v1::Header::kHeartbeatReply:
      TakeHeartbeatReply(header.heartbeat_reply());
      break;
    case v1::Header::kWorkReply:
      TakeWorkReply(header);
      break;
    case v1::Header::kReportReply:
      TakeReportReply(header);
      break;
    default:
      break;  // a late reply to a join
  }
}

void ServerLink::TakeRowReply(size_t server, uint64_t request_id,
                              const transport::Message& message) {
  MutexLock lock(mutex_);
  const auto since_ms = outstanding_.OnRowReply(server, request_id, session::BodyOf(message));
  if (since_ms && outstanding_.PullIsDone(request_id)) changed_.NotifyAll();
  if (since_ms) peers_[server].session->OnDataReply(clock_.NowMs() - *since_ms);
}

void ServerLink::TakeAgreement(size_t server, const v1::Agreement& agreement,
                               const transport::Message& message) {
  MutexLock lock(mutex_);
  const auto since_ms = outstanding_.OnAgreement(server, agreement, session::BodyOf(message));
  changed_.NotifyAll();
  if (since_ms) peers_[server].session->OnDataReply(clock_.NowMs() - *since_ms);
}

void ServerLink::TakeProbeReply(size_t server, uint64_t request_id) {
  const double now_seconds = MonotonicSeconds();
  MutexLock lock(mutex_);
  const auto since_ms = outstanding_.OnProbeReply(server, request_id, now_seconds);
  if (since_ms && outstanding_.PullIsDone(request_id)) changed_.NotifyAll();
  if (since_ms) peers_[server].session->OnDataReply(clock_.NowMs() - *since_ms);
}

void ServerLink::TakeModelReply(size_t server, const v1::ModelReply& reply,
                                const transport::Message& message) {
  MutexLock lock(mutex_);
  const auto since_ms = outstanding_.OnModelReply(server, reply, session::BodyOf(message));
  changed_.NotifyAll();
  if (since_ms) peers_[server].session->OnDataReply(clock_.NowMs() - *since_ms);
}

void ServerLink::TakeHeartbeatReply(const v1::HeartbeatReply& reply) {
  if (!reply.failed().empty()) return TakeFailureOfRun(reply.failed());
  if (reply.finished_well() && phase_ == Phase::kAwaitingReplica) {  // of servers that have left
    return Fail(TooLate(StrCat(PeerName(0), " says that the run is over: it has finished well")));
  }
  if (reply.has_pipeline()) TakePipeline(reply.pipeline());
  MutexLock lock(mutex_);
  TakeWord(outstanding_.OnHeartbeatReply());
}

void ServerLink::TakeWorkReply(const v1::Header& header) {
  const v1::WorkReply& reply = header.work_reply();
  if (reply.has_failed()) return TakeFailureOfRun(reply.failed());
  if (reply.has_pipeline()) TakePipeline(reply.pipeline());
  TakeExchangeReply(reply.request_id(), header);
}

void ServerLink::TakeReportReply(const v1::Header& header) {
  const v1::ReportReply& reply = header.report_reply();
  if (!reply.failed().empty()) return TakeFailureOfRun(reply.failed());
  if (reply.has_run() && !options_.saves && !options_.stays) SayFarewell();
  TakeExchangeReply(reply.request_id(), header);
}

void ServerLink::TakeExchangeReply(uint64_t id, const v1::Header& reply) {
  MutexLock lock(mutex_);
  TakeWord(outstanding_.OnExchangeReply(id, reply));
  changed_.NotifyAll();
}

// Rounds wait for whoever is slow, as they should; a long wait is told of once.
void ServerLink::TakeRoundNotice(size_t server, const v1::RoundNotice& notice) {
  constexpr int64_t kLongMs = 10'000;
  const int64_t now_ms = clock_.NowMs();
  peers_[server].session->OnRoundNotice(notice, now_ms);
  peers_[server].noticed_ms = now_ms;
  if (notice.round() == 0) return;
  if (notice.round() != waiting_round_) {
    waiting_round_ = notice.round();
    round_waits_since_ms_ = now_ms;
  }
  if (!round_waits_since_ms_ || now_ms - *round_waits_since_ms_ < kLongMs) return;
  round_waits_since_ms_.reset();
  LOG(INFO) << "round " << notice.round() << " has waited for " << kLongMs / 1000 << " s, at "
            << PeerName(server) << ", for " << NamesOf(notice.awaited());
}

void ServerLink::TakeFailureOfRun(const std::string& reason) {
  SayFarewell();
  Fail(FailedPrecondition(StrCat("the run has failed: ", reason)));
}

void ServerLink::TakePipeline(const v1::PipelineView& view) {
  if (!options_.on_pipeline) return;
  pipeline_is_ready_ = view.ready();
  options_.on_pipeline(view);
}

void ServerLink::TakeWord(const std::optional<int64_t>& since_ms) {
  if (since_ms) peers_[0].session->OnWordReply(clock_.NowMs() - *since_ms);
}

}  // namespace weir::worker
