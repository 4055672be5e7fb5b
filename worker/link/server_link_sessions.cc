// The sessions with the servers: what they have a link do, and what it tells of them. Of the I/O
// thread.

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/keys/key_folder.h"
#include "common/session/damage.h"
#include "worker/link/server_link.h"

namespace weir::worker {

// The heartbeat that was lost with the connection leaves before the pushes that are repeated, which
// may take long.
void ServerLink::TakeHelloReply(size_t server, const v1::HelloReply& reply) {
  session::ClientSession& session = *peers_[server].session;
  const int64_t now_ms = clock_.NowMs();
  const session::ClientActions actions = session.OnHelloReply(reply, now_ms);
  if (session.ready()) transport_->Welcome(peers_[server].connection);
  if (session.ready() && server == 0) SendHeartbeat(now_ms);
  Do(server, actions);
  if (session.ready()) RepeatOutstanding(server);
}

// Once all that came before has been received.
void ServerLink::LookAtBroken(int64_t now_ms) {
  for (const transport::ConnectionId broken : transport_->TakeBroken()) {
    const auto peer = std::ranges::find(peers_, broken, &Peer::connection);
    if (peer == peers_.end()) continue;
    const auto server = static_cast<size_t>(peer - peers_.begin());
    Do(server, peer->session->OnBroken(OldestOutstanding(server), now_ms));
  }
}

void ServerLink::Do(size_t server, const session::ClientActions& actions,
                    const transport::Message* answer) {
  using Kind = session::ClientAction::Kind;
  Peer& peer = peers_[server];
  for (const session::ClientAction& action : actions) {
    switch (action.kind) {
      case Kind::kConnect: {
        if (peer.connection != 0) transport_->Close(peer.connection);
        auto opened = transport_->Open(peer.address, keys::ServerName(server));
        if (!opened.ok()) return Fail(opened.status());
        peer.connection = *opened;
        break;
      }
      case Kind::kSend:
        Send(server, action.header, action.body);
        break;
      case Kind::kApply:
        ApplyAnswer(server, answer);
        break;
      case Kind::kFail:
        Fail(Explained(action.status));
        break;
    }
  }
}

// Nothing of it is taken, as if it had been lost.
void ServerLink::TakeDamage(size_t server, const Result<v1::Header>& header, const Status& damage) {
  const std::string what = StrCat("from ", PeerName(server), " ", damage.message());
  if (damage.code() != StatusCode::kInvalidData) return Fail({damage.code(), what});
  complaints_.Warn(PeerName(server), what);
  if (header.ok() && peers_[server].damage.Add(*header)) {
    return Fail(InvalidData(StrCat(what, "; so it has ", session::DamageBook::kMostTimes,
                                   " times, and is not asked for again")));
  }
  Do(server, peers_[server].session->OnDamage(clock_.NowMs()));
  PublishTaken();
}

void ServerLink::ApplyAnswer(size_t server, const transport::Message* answer) {
  CHECK(answer != nullptr) << "kApply follows OnAnswer only";
  if (Status status = replica_.Apply(server, *answer); !status.ok()) {
    Fail(status.code() == StatusCode::kInvalidData
             ? InvalidData(
                   StrCat(PeerName(server), " sent an answer that is none: ", status.message()))
             : status);
  }
}

// Others do not wait for who stands still for long.
Status ServerLink::Explained(const Status& failure) const {
  const int64_t still_ms = clock_.still_ms();
  if (still_ms < config_.cluster().member_timeout_ms()) return failure;
  return {failure.code(), StrCat(failure.message(), "; this process stood still for ",
                                 Format("%.0f s", static_cast<double>(still_ms) * 1e-3),
                                 ", and the run may have ended meanwhile")};
}

void ServerLink::PublishTaken() {
  MutexLock lock(mutex_);
  const size_t servers_before = std::exchange(servers_ready_, 0);
  const int64_t kept_before = std::exchange(kept_bytes_, 0);
  uint64_t accepted = UINT64_MAX, durable = UINT64_MAX;
  reconnects_ = replayed_ = 0;
  for (size_t i = 0; i < peers_.size(); ++i) {
    const session::ClientSession& session = *peers_[i].session;
    accepted = std::min(accepted, session.accepted_sequence());
    durable = std::min(durable, session.durable_sequence());
    taken_.versions[i] = session.version();
    servers_ready_ += session.has_version() ? 1 : 0;
    reconnects_ += session.reconnects();
    replayed_ += session.replayed_pushes();
    kept_bytes_ += session.kept_bytes();
  }
  const uint64_t accepted_before = std::exchange(taken_.accepted_sequence, accepted);
  const uint64_t durable_before = std::exchange(taken_.durable_sequence, durable);
  credits_taken_ -= static_cast<int64_t>(accepted - accepted_before);
  const bool may_let_go = accepted > accepted_before || durable > durable_before ||
                          kept_bytes_ < kept_before || servers_ready_ != servers_before;
  if (may_let_go) changed_.NotifyAll();
}

session::OtherWaits ServerLink::OldestOutstanding(size_t server) const {
  MutexLock lock(mutex_);
  session::OtherWaits waits = outstanding_.Oldest(server);
  if (waits.data_since_ms) {
    waits.data_since_ms = std::max(*waits.data_since_ms, peers_[server].noticed_ms);
  }
  return waits;
}

// What has been asked for behind a push that is not in its session yet waits for that: its rows are
// those after the push.
void ServerLink::RepeatOutstanding(size_t server) {
  std::vector<Request> requests;
  for (bool is_next = false; !is_next;) {
    RunCommands();
    MutexLock lock(mutex_);
    is_next = commands_.empty();
    if (is_next) requests = outstanding_.AllFor(server);
  }
  for (Request& request : requests) Send(server, std::move(request));
}

}  // namespace weir::worker
