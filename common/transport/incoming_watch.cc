#include "common/transport/incoming_watch.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <zmq.hpp>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/strings.h"
#include "common/transport/failed_handshake.h"
#include "common/transport/tcp_connection.h"

namespace weir::transport {
namespace {

// Those that come with a descriptor.
constexpr int kEvents = ZMQ_EVENT_LISTENING | ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_CONNECTED |
                        ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED;
// Handshakes and heartbeats, which are no messages.
constexpr int64_t kSlackBytes = 65'536;
// Of messages that do not end, by all whom nobody knows.
constexpr int64_t kMostOfStrangers = 64 << 20;
// While somebody is there whom nobody knows, and else.
constexpr int64_t kStrangerLookMs = 10, kLookMs = 100;
// More ends than anybody looks at: nobody does.
constexpr size_t kMostEnded = 10'000;
// Connections take turns, but ZeroMQ may be so many messages late to see that one has something.
constexpr int64_t kLateMessages = 100;

}  // namespace

Result<std::unique_ptr<IncomingWatch>> IncomingWatch::Make(zmq::context_t& context, void* socket,
                                                           const Limits& limits,
                                                           std::shared_ptr<const KeyList> peers) {
  WEIR_ASSIGN_OR_RETURN(auto events,
                        SocketEvents::Make(context, socket, kEvents | kHandshakeEvents));
  return std::unique_ptr<IncomingWatch>(
      new IncomingWatch(std::move(events), limits, std::move(peers)));
}

IncomingWatch::IncomingWatch(std::unique_ptr<SocketEvents> events, const Limits& limits,
                             std::shared_ptr<const KeyList> peers)
    : events_(std::move(events)), limits_(limits), peers_(std::move(peers)) {}

const PeerId& IncomingWatch::OnlyPeer() {
  static const PeerId name = "only";
  return name;
}

// ZeroMQ is asked once for each peer, because it has to search for the answer. Messages outlive
// their connection, whose descriptor may be another's by now: who names it last has it.
void IncomingWatch::OnFirstFrame(const PeerId& peer, zmq::message_t& frame) {
  if (peer == OnlyPeer()) TakeEvents();  // it may have another connection by now
  if (descriptors_.contains(peer)) return;
  TakeEvents();
  const int descriptor = zmq_msg_get(frame.handle(), ZMQ_SRCFD);
  const auto found = connections_.find(descriptor);
  if (found == connections_.end()) return;  // it has gone meanwhile
  Connection& connection = found->second;
  if (!connection.peer.empty()) {
    descriptors_.erase(connection.peer);
    connection.received = ReadBytes(descriptor).value_or(0);
  }
  connection.peer = peer;
  const char* const key = peers_ ? zmq_msg_gets(frame.handle(), "User-Id") : nullptr;
  connection.key = key == nullptr ? Key() : Key(key);
  descriptors_[peer] = descriptor;
  if (!connection.key.empty()) entrance_.OnKnown(descriptor);
}

void IncomingWatch::OnMessage(const PeerId& peer, size_t wire_bytes) {
  ++message_count_;
  const auto known = descriptors_.find(peer);
  if (known == descriptors_.end()) return;
  Connection& connection = connections_.at(known->second);
  connection.received += static_cast<int64_t>(wire_bytes);
  connection.has_message = true;
}

void IncomingWatch::Forget(int descriptor) {
  entrance_.OnGone(descriptor);
  const auto found = connections_.find(descriptor);
  if (found == connections_.end()) return;
  descriptors_.erase(found->second.peer);
  if (ended_.size() < kMostEnded) ended_.push_back(std::move(found->second.peer));
  connections_.erase(found);
}

void IncomingWatch::Welcome(const PeerId& peer) {
  const auto known = descriptors_.find(peer);
  if (known != descriptors_.end()) connections_.at(known->second).welcomed = peer;
}

bool IncomingWatch::has_stranger() const {
  return std::ranges::any_of(connections_,
                             [](const auto& entry) { return !entry.second.is_welcome(); });
}

int64_t IncomingWatch::next_look_ms() const { return has_stranger() ? kStrangerLookMs : kLookMs; }

void IncomingWatch::Look(bool is_idle) {
  TakeEvents();
  full_descriptors_.Look();
  if (peers_) entrance_.Look(Clock::Real().NowMs());
  complaints_.WarnOfCounted();
  for (auto& [descriptor, connection] : connections_) {
    LookAt(descriptor, is_idle, &connection);
  }
  LookAtStrangers(is_idle);
}

void IncomingWatch::TakeEvents() {
  while (const auto event = events_->Next()) TakeEvent(event->type, event->value);
}

void IncomingWatch::TakeEvent(uint16_t event, int value) {
  if (event == ZMQ_EVENT_LISTENING) {
    listens_ = true;
    return entrance_.OnListening(value);
  }
  // What its own ZapHandler has said, and tells better; and whoever looks whether a port is open.
  const bool is_told =
      event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH || event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
  if (listens_ && is_told) return;
  std::string why = WhyHandshakeFailed(event, value);
  if (!why.empty()) return void(failed_handshake_ = std::move(why));
  const std::string failed = std::exchange(failed_handshake_, {});
  const auto known = connections_.find(value);
  if (!failed.empty() && known != connections_.end()) Complain(known->second.address, failed);
  Forget(value);
  if (event != ZMQ_EVENT_ACCEPTED && event != ZMQ_EVENT_CONNECTED) return;
  Connection& connection = connections_[value] = {.address = PeerAddress(value)};
  if (!peers_ || event != ZMQ_EVENT_ACCEPTED) return;
  if (entrance_.OnAccepted(value, connection.address, Clock::Real().NowMs())) return;
  End(value, "too many do not prove who they are", &connection);
}

void IncomingWatch::LookAt(int descriptor, bool is_idle, Connection* connection) {
  if (connection->address.empty()) return;
  if (!connection->key.empty() && peers_->NameOf(connection->key).empty()) {
    return End(descriptor, "its key is not on the list any more", connection);
  }
  const std::optional<int64_t> read = ReadBytes(descriptor);
  if (!read) return;
  const int64_t begun = *read - connection->received;
  const bool had_message = std::exchange(connection->has_message, false);
  connection->begun = had_message ? 0 : begun;
  if (had_message && begun <= kSlackBytes) connection->received = *read;
  const int64_t most = connection->is_welcome()
                           ? limits_.max_message_bytes
                           : std::min(limits_.max_message_bytes, *limits_.max_stranger_bytes);
  if (begun <= most + kSlackBytes) {
    connection->doubted_at.reset();
  } else if (had_message || !connection->doubted_at) {
    connection->doubted_at = message_count_;
  } else if (is_idle || HadTheirTurn(*connection->doubted_at)) {
    End(descriptor, StrCat("it has sent ", begun, " bytes of a message that does not end"),
        connection);
  }
}

// The number may be another's by now, of which the event has not come.
void IncomingWatch::End(int descriptor, const std::string& why, Connection* connection) {
  if (PeerAddress(descriptor) != connection->address) return;
  Complain(connection->address, StrCat("its connection is closed: ", why));
  EndConnection(descriptor);
  connection->address.clear();
}

void IncomingWatch::Complain(const std::string& address, const std::string& what) {
  complaints_.Warn(HostOf(address),
                   StrCat(address.empty() ? "one who has gone" : address, ": ", what));
}

void IncomingWatch::LookAtStrangers(bool is_idle) {
  std::multimap<int64_t, int> begun;
  int64_t total = 0;
  for (const auto& [descriptor, connection] : connections_) {
    if (connection.address.empty() || !connection.is_stranger()) continue;
    begun.emplace(connection.begun, descriptor);
    total += connection.begun;
  }
  const int64_t most = std::max(kMostOfStrangers, *limits_.max_stranger_bytes + kSlackBytes);
  if (total <= most) return strangers_doubted_at_.reset();
  const int64_t since = strangers_doubted_at_.value_or(message_count_);
  const bool is_first = !std::exchange(strangers_doubted_at_, since);
  if (is_first || !(is_idle || HadTheirTurn(since))) return;
  for (auto next = begun.rbegin(); total > most; ++next) {
    total -= next->first;
    End(next->second, "strangers have sent too much of messages that do not end",
        &connections_.at(next->second));
  }
}

bool IncomingWatch::HadTheirTurn(int64_t since) const {
  return message_count_ - since >= std::ssize(connections_) + kLateMessages;
}

}  // namespace weir::transport
