// How a link gets into the run, until the replica is there.

#include <algorithm>
#include <utility>

#include "common/base/strings.h"
#include "common/session/header_message.h"
#include "common/transport/tcp_address.h"
#include "worker/link/joining.h"
#include "worker/link/server_link.h"

namespace weir::worker {
namespace {

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
          .environment = options.environment};
}

}  // namespace

Status ServerLink::Connect() {
  WEIR_ASSIGN_OR_RETURN(peers_[0].connection, transport_->Open(peers_[0].address));
  JoinOptions join = JoinOptionsOf(options_, config_.cluster());
  join.coordinator_name = PeerName(0);
  join.identity = identity_;
  const Result<v1::JoinReply> joined =
      JoinRun(join, peers_[0].connection, transport_.get(), &meter_, [this] { return failure(); });
  if (!joined.ok()) return WithHostProblem(joined.status(), peers_[0].address);
  OpenSessions(*joined);
  thread_ = std::thread([this] { Run(); });
  Status status = AwaitReplica();
  if (status.ok() && joined->wants_learned()) status = TellLearned();
  if (!status.ok()) Stop(status, true);  // who has joined is waited for, unless he says so
  return status;
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
  return RequestWork(std::move(request), {}).status();
}

void ServerLink::OpenSessions(const v1::JoinReply& joined) {
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
}

Status ServerLink::AwaitReplica() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !failure_.ok() || servers_ready_ == peers_.size(); });
  return failure_;
}

}  // namespace weir::worker
