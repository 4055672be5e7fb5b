// How a link gets into the run, and then has the replica: what Connect waits for.

#include <algorithm>
#include <utility>

#include "common/base/strings.h"
#include "common/keys/key_folder.h"
#include "common/session/header_message.h"
#include "common/transport/tcp_address.h"
#include "worker/link/server_link.h"

namespace weir::worker {
namespace {

// So often it is looked whether the link is to be stopped.
constexpr int64_t kJoiningPauseMs = 20;

// A host that is not known is asked for until the time is over, because it may come to be.
Status WithHostProblem(const Status& failure, const std::string& address) {
  const auto parsed = transport::ParseTcpAddress(address);
  if (failure.code() != StatusCode::kDeadlineExceeded || !parsed.ok()) return failure;
  const auto host = transport::ResolveHost(parsed->host);
  if (host.ok()) return failure;
  return DeadlineExceeded(StrCat(failure.message(), "; ", host.status().message()));
}

// Without the run's identity, and who is asked.
JoinOptions JoinOptionsOf(const LinkOptions& options, const v1::ClusterConfig& cluster) {
  return {.trainer = options.trainer,
          .stage = options.stage,
          .stage_count = options.stage_count,
          .link_address = options.link_address,
          .saves = options.saves,
          .stays = options.stays,
          .awaits_model = options.awaits_model,
          .file_bytes = options.file_bytes,
          .train_files = options.train_files,
          .timeout_ms = cluster.connect_timeout_ms(),
          .member_timeout_ms = cluster.member_timeout_ms() + 1,
          .nonce = options.environment.nonce()};
}

}  // namespace

void ServerLink::Join(int64_t timeout_ms) {
  const Status status = TryToJoin(timeout_ms);
  if (status.ok()) return;
  Fail(WithHostProblem(status, peers_[0].address));
  has_ended_ = true;
}

Status ServerLink::TryToJoin(int64_t timeout_ms) {
  WEIR_RETURN_IF_ERROR(failure());
  const int64_t now_ms = clock_.Look();
  if (!joining_) WEIR_RETURN_IF_ERROR(BeginJoining(now_ms));
  WEIR_ASSIGN_OR_RETURN(const std::optional<v1::Header> request, joining_->Tick(now_ms));
  if (request) Send(0, *request, {});
  const auto incoming = transport_->Receive(std::min(timeout_ms, kJoiningPauseMs));
  if (!incoming) return OkStatus();
  meter_.AddReceived(incoming->message);
  const auto header = session::ParseHeader(incoming->message);
  if (header.status().code() == StatusCode::kFailedPrecondition) {
    return FailedPrecondition(StrCat(PeerName(0), " sent ", header.status().message()));
  }
  if (!header.ok()) return OkStatus();  // it is asked again
  WEIR_ASSIGN_OR_RETURN(const std::optional<v1::JoinReply> joined,
                        joining_->OnMessage(*header, clock_.Look()));
  if (joined) OpenSessions(*joined);
  return OkStatus();
}

Status ServerLink::BeginJoining(int64_t now_ms) {
  WEIR_ASSIGN_OR_RETURN(peers_[0].connection,
                        transport_->Open(peers_[0].address, keys::ServerName(0)));
  JoinOptions join = JoinOptionsOf(options_, config_.cluster());
  join.coordinator_name = PeerName(0);
  join.identity = identity_;
  joining_.emplace(std::move(join), now_ms);
  return OkStatus();
}

// Who has joined is waited for, unless he says why he does not come.
void ServerLink::GoOnConnecting() {
  if (const Status status = failure(); !status.ok()) {
    phase_ = Phase::kConnected;
    return TellFailure(status);
  }
  if (phase_ == Phase::kAwaitingReplica) {
    {
      MutexLock lock(mutex_);
      if (servers_ready_ < peers_.size()) return;
    }
    phase_ = Phase::kTellingLearned;
    if (const Status status = wants_learned_ ? TellLearned() : OkStatus(); !status.ok()) {
      return Fail(status);
    }
  }
  if (wants_learned_ && !TryTakeWork()) return;
  phase_ = Phase::kConnected;
  MutexLock lock(mutex_);
  is_connected_ = true;
  changed_.NotifyAll();
}

// Before training, so that who saves the model knows when it is over.
Status ServerLink::TellLearned() {
  constexpr size_t kOtherBytes = size_t{1} << 16;  // more than the rest of the message
  const auto most = std::min(static_cast<size_t>(config_.cluster().max_message_bytes()),
                             session::kMaxHeaderBytes);
  if (options_.learned.ByteSizeLong() + kOtherBytes > most) {
    return ResourceExhausted(
        StrCat("what the columns have learned takes ", options_.learned.ByteSizeLong(),
               " bytes, and servers that save the model hear of ", most - kOtherBytes,
               " at most: give --save to a worker instead, or raise minimum_frequency"));
  }
  v1::WorkRequest request;
  *request.mutable_learned() = options_.learned;
  request.set_wants_nothing(true);
  SubmitWorkRequest(std::move(request), {});
  return OkStatus();
}

void ServerLink::OpenSessions(const v1::JoinReply& joined) {
  wants_learned_ = joined.wants_learned();
  incarnation_ = joined.incarnation();
  run_ = joined.run();
  const v1::ClusterConfig& cluster = config_.cluster();
  for (size_t i = 0; i < peers_.size(); ++i) {
    session::ClientSessionOptions session;
    session.peer_name = PeerName(i);
    session.identity = identity_;
    session.trainer = options_.trainer;
    session.stage = options_.stage;
    session.stage_count = options_.stage_count;
    session.incarnation = incarnation_;
    session.membership_epoch = joined.membership_epoch();
    session.run = run_;
    session.connect_timeout_ms = cluster.connect_timeout_ms();
    session.answer_timeout_ms = cluster.answer_timeout_ms();
    session.silence_ms = session::SilenceMs(cluster.answer_timeout_ms());
    // A hello on a new connection is to come before this worker is given up.
    session.most_silence_ms =
        std::min(cluster.answer_timeout_ms() / 2, cluster.member_timeout_ms() * 2 / 3);
    peers_[i].session.emplace(std::move(session));
  }
  phase_ = Phase::kAwaitingReplica;
  for (size_t i = 0; i < peers_.size(); ++i) Do(i, peers_[i].session->Start(clock_.NowMs()));
}

}  // namespace weir::worker
