#include "common/transport/zmq_socket.h"

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/transport/tcp_address.h"

namespace weir::transport {
namespace {

// Below this a copy costs less than the two allocations of a shared buffer.
constexpr size_t kShareFromBytes = 1024;

// Below this a received part is copied: ZeroMQ receives small frames several to one buffer of 8
// KiB, which any of them would keep alive.
constexpr size_t kKeepFromBytes = 4096;

// A header, dense frames and row frames. More are taken, too.
constexpr size_t kUsualParts = 3;

// How long a destroyed socket may go on sending.
constexpr int kLingerMs = 1000;

// An unanswered heartbeat ends a connection. A peer answers between two parts, so the timeout must
// exceed the time that one large part takes on a slow network.
constexpr int kHeartbeatIntervalMs = 10'000;
constexpr int kHeartbeatTimeoutMs = 60'000;

constexpr int kFirstReconnectMs = 50;
// A server that was started again is found so late.
constexpr int kLongestReconnectMs = 500;
constexpr int kConnectTimeoutMs = 10'000;

void SetConnectionOptions(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::heartbeat_ivl, kHeartbeatIntervalMs);
  socket.set(zmq::sockopt::heartbeat_timeout, kHeartbeatTimeoutMs);
  socket.set(zmq::sockopt::reconnect_ivl, kFirstReconnectMs);
  socket.set(zmq::sockopt::reconnect_ivl_max, kLongestReconnectMs);
  socket.set(zmq::sockopt::connect_timeout, kConnectTimeoutMs);
  // The kernel's view of a silent peer, in seconds: noticed also while nothing is read.
  socket.set(zmq::sockopt::tcp_keepalive, 1);
  socket.set(zmq::sockopt::tcp_keepalive_idle, 30);
  socket.set(zmq::sockopt::tcp_keepalive_intvl, 10);
  socket.set(zmq::sockopt::tcp_keepalive_cnt, 3);
}

void SetOptions(zmq::socket_t& socket, const Limits& limits) {
  SetConnectionOptions(socket);
  socket.set(zmq::sockopt::linger, kLingerMs);
  socket.set(zmq::sockopt::sndhwm, limits.queue_messages);
  socket.set(zmq::sockopt::rcvhwm, limits.queue_messages);
  socket.set(zmq::sockopt::maxmsgsize, limits.max_message_bytes);
  // Off: messages queue while nobody listens, as the contract has it.
  socket.set(zmq::sockopt::immediate, false);
}

// Who does not prove itself within that time is not connected.
constexpr int kHandshakeMs = 10'000;

void Secure(zmq::socket_t& socket, const KeyPair& own) {
  socket.set(zmq::sockopt::curve_publickey, own.public_key);
  socket.set(zmq::sockopt::curve_secretkey, own.secret_key);
  socket.set(zmq::sockopt::handshake_ivl, kHandshakeMs);
}

// What a part has more on the wire, encrypted: the name and number of a MESSAGE, and around its
// flags and bytes a box (CurveZMQ, ZeroMQ RFC 26).
constexpr size_t kBoxBytes = 8 + 8 + 1 + 16;

// Asks the context's ZapHandler.
void SecureServer(zmq::socket_t& socket, const KeyPair& own) {
  Secure(socket, own);
  socket.set(zmq::sockopt::curve_server, true);
  socket.set(zmq::sockopt::zap_domain, "weir");
}

// Called by ZeroMQ, in its own thread, when a shared buffer has left.
void ReleaseSharedBytes(void* /*data*/, void* owner) {
  delete static_cast<std::shared_ptr<const void>*>(owner);
}

zmq::message_t ToFrame(const Part& part) {
  if (part.size() < kShareFromBytes) return {part.span().data(), part.size()};
  auto owner = std::make_unique<std::shared_ptr<const void>>(part.owner());
  // ZeroMQ takes a mutable pointer, but only reads an outgoing message.
  zmq::message_t frame(const_cast<uint8_t*>(part.span().data()), part.size(), &ReleaseSharedBytes,
                       owner.get());
  static_cast<void>(owner.release());  // NOLINT(bugprone-unused-return-value): the frame has it
  return frame;
}

// Before the first frame leaves, so that no message stays half sent for want of memory.
void ToFrames(const PeerId* peer, const Message& message, std::vector<zmq::message_t>& frames) {
  frames.clear();
  if (peer != nullptr) frames.emplace_back(peer->data(), peer->size());
  for (const Part& part : message.parts) frames.push_back(ToFrame(part));
}

// A large frame's memory becomes the part's; the frame is empty then.
Part ToPart(zmq::message_t& frame) {
  if (frame.size() < kKeepFromBytes) {
    const auto copy = std::make_shared_for_overwrite<uint8_t[]>(frame.size());
    std::memcpy(copy.get(), frame.data(), frame.size());
    return {copy, ByteSpan(copy.get(), frame.size())};
  }
  const auto owner = std::make_shared<zmq::message_t>(std::move(frame));
  return {owner, ByteSpan(owner->data<uint8_t>(), owner->size())};
}

Status BindError(const std::string& address, int error) {
  const std::string prefix = StrCat("cannot listen on ", address, ": ");
  switch (error) {
    case EADDRINUSE:
      return FailedPrecondition(
          StrCat(prefix, "address already in use; is another server running there?"));
    case EADDRNOTAVAIL:
    case ENODEV:
      return InvalidConfig(StrCat(prefix, "no network interface of this machine has this address"));
    default:
      return FailedPrecondition(StrCat(prefix, zmq_strerror(error)));
  }
}

// What its connection has proved; empty without keys.
Key KeyOfSender(zmq::message_t& frame) {
  const char* const key = zmq_msg_gets(frame.handle(), "User-Id");
  return key == nullptr ? Key() : Key(key);
}

}  // namespace

ZmqSocket::Made ZmqSocket::Make(zmq::context_t& context, Kind kind, const Limits& limits) {
  const auto type = kind == Kind::kRouter ? zmq::socket_type::router : zmq::socket_type::dealer;
  try {
    auto socket = std::make_unique<zmq::socket_t>(context, type);
    SetOptions(*socket, limits);
    return std::unique_ptr<ZmqSocket>(new ZmqSocket(std::move(socket), kind, limits));
  } catch (const zmq::error_t& error) {
    return Unavailable(StrCat("cannot make a ZeroMQ socket: ", error.what()));
  }
}

ZmqSocket::Made ZmqSocket::MakeRouter(zmq::context_t& context, const Limits& limits,
                                      const std::optional<Security>& security) {
  WEIR_ASSIGN_OR_RETURN(auto router, Make(context, Kind::kRouter, limits));
  // An unknown or full peer is an error instead of a silent loss.
  router->socket_->set(zmq::sockopt::router_mandatory, true);
  if (!security) return router;
  router->peers_ = security->peers;
  SecureServer(*router->socket_, security->own);
  return router;
}

ZmqSocket::Made ZmqSocket::MakeDealer(zmq::context_t& context, const Limits& limits,
                                      const std::optional<Security>& security,
                                      const PeerName& server) {
  WEIR_ASSIGN_OR_RETURN(auto dealer, Make(context, Kind::kDealer, limits));
  if (!security) return dealer;
  const std::optional<Key> key = security->peers->KeyOf(server);
  if (!key) {
    return InvalidConfig(StrCat("the list of keys has none of ", server.empty() ? "it" : server));
  }
  Secure(*dealer->socket_, security->own);
  dealer->socket_->set(zmq::sockopt::curve_serverkey, *key);
  dealer->server_ = {security->peers, server, *key, {}};
  return dealer;
}

ZmqSocket::ZmqSocket(std::unique_ptr<zmq::socket_t> socket, Kind kind, const Limits& limits)
    : socket_(std::move(socket)),
      kind_(kind),
      limits_(limits),
      fd_(socket_->get(zmq::sockopt::fd)) {}

ZmqSocket::~ZmqSocket() = default;

Result<std::string> ZmqSocket::Bind(const std::string& address) {
  WEIR_ASSIGN_OR_RETURN(TcpAddress parsed, ParseTcpAddress(address));
  int error = TryBind(parsed);
  // ZeroMQ listens at interface names and numbers only; what is neither may be a host name.
  if (error == ENODEV) {
    Result<std::string> number = ResolveHost(parsed.host);
    if (!number.ok()) {
      return InvalidConfig(StrCat("cannot listen on ", address, ": ", number.status().message()));
    }
    parsed.host = *number;
    error = TryBind(parsed);
  }
  if (error != 0) return BindError(address, error);
  return socket_->get(zmq::sockopt::last_endpoint);
}

// All interfaces are those of IPv6 too, where the kernel has it.
int ZmqSocket::TryBind(const TcpAddress& address) {
  const std::string text = ToString(address);
  const bool is_all = address.host == "*";
  socket_->set(zmq::sockopt::ipv6, is_all || IsIpv6(address));
  if (zmq_bind(handle(), text.c_str()) == 0) return 0;
  if (!is_all || zmq_errno() == EADDRINUSE) return zmq_errno();
  socket_->set(zmq::sockopt::ipv6, false);
  return zmq_bind(handle(), text.c_str()) == 0 ? 0 : zmq_errno();
}

Status ZmqSocket::Connect(const std::string& address) {
  WEIR_ASSIGN_OR_RETURN(const TcpAddress parsed, ParseTcpAddress(address));
  if (IsEveryInterface(parsed) || parsed.port == 0) {
    return InvalidConfig(StrCat("cannot connect to ", address, ": it names no host or no port"));
  }
  // Names are looked up for IPv4 alone, at which servers listen that are named so.
  socket_->set(zmq::sockopt::ipv6, IsIpv6(parsed));
  if (server_) server_->address = address;
  if (zmq_connect(handle(), address.c_str()) == 0) return OkStatus();
  return InvalidConfig(StrCat("cannot connect to ", address, ": ", zmq_strerror(zmq_errno())));
}

// ZeroMQ would connect again with the key that it was given, and go on sending what is queued.
bool ZmqSocket::FollowKey() {
  if (!server_) return false;
  const Key key = server_->list->KeyOf(server_->name).value_or(Key());
  if (std::exchange(server_->key, key) == key) return false;
  DropQueued();
  zmq_disconnect(handle(), server_->address.c_str());
  socket_->set(zmq::sockopt::linger, kLingerMs);
  if (key.empty()) return true;
  socket_->set(zmq::sockopt::curve_serverkey, key);
  zmq_connect(handle(), server_->address.c_str());
  return true;
}

int ZmqSocket::Send(const PeerId* peer, const Message& message) {
  DCHECK_EQ(peer != nullptr, kind_ == Kind::kRouter);
  const int error = SendFrames(peer, message);
  outgoing_.clear();  // what did not leave lets go of its owners, too
  return error;
}

int ZmqSocket::SendFrames(const PeerId* peer, const Message& message) {
  try {
    ToFrames(peer, message, outgoing_);
    for (size_t i = 0; i < outgoing_.size(); ++i) {
      const int error = SendFrame(outgoing_[i], i + 1 < outgoing_.size());
      // Only the first frame can be refused. A later one fails when the connection ends under it:
      // the message is lost with the connection, and ZeroMQ discards the frames that follow.
      if (error != 0 && i == 0) return error;
    }
    return 0;
  } catch (const zmq::error_t& error) {
    return error.num();
  }
}

int ZmqSocket::SendFrame(zmq::message_t& frame, bool more) {
  const int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
  while (zmq_msg_send(frame.handle(), handle(), flags) < 0) {
    if (zmq_errno() != EINTR) return zmq_errno();
  }
  return 0;
}

std::optional<IncomingMessage> ZmqSocket::TryReceive() {
  zmq::message_t frame;
  while (TryReceiveFrame(frame)) {
    IncomingMessage incoming;
    if (kind_ == Kind::kRouter) {
      incoming.peer = frame.to_string();
      CHECK(frame.more() && TryReceiveFrame(frame)) << "ZeroMQ delivers whole messages";
    }
    const bool is_known = FindName(frame, incoming);
    if (ReceiveParts(incoming.peer, frame, incoming.message) && is_known) return incoming;
  }
  return std::nullopt;
}

bool ZmqSocket::FindName(zmq::message_t& frame, IncomingMessage& incoming) {
  if (!peers_) return true;
  incoming.name = peers_->NameOf(KeyOfSender(frame));
  return !incoming.name.empty();
}

Status ZmqSocket::Watch(zmq::context_t& context) {
  WEIR_ASSIGN_OR_RETURN(watch_, IncomingWatch::Make(context, handle(), limits_, peers_));
  return OkStatus();
}

bool ZmqSocket::ReceiveParts(const PeerId& router_peer, zmq::message_t& frame, Message& message) {
  const PeerId& peer = kind_ == Kind::kRouter ? router_peer : IncomingWatch::OnlyPeer();
  if (watch_) watch_->OnFirstFrame(peer, frame);
  const size_t box_bytes = peers_ || server_ ? kBoxBytes : 0;
  size_t total = 0, wire_bytes = 0;
  int64_t part_count = 0;
  bool small_enough = true;
  message.parts.reserve(frame.more() ? kUsualParts : 1);
  for (;;) {
    total += frame.size();
    wire_bytes += WireBytes(frame.size() + box_bytes);
    ++part_count;
    small_enough = small_enough && total <= static_cast<size_t>(limits_.max_message_bytes) &&
                   part_count <= limits_.max_message_parts;
    const bool more = frame.more();
    if (small_enough) {
      message.parts.push_back(ToPart(frame));
    } else {
      message.parts.clear();
    }
    if (!more) break;
    CHECK(TryReceiveFrame(frame)) << "ZeroMQ delivers whole messages";
  }
  if (watch_) watch_->OnMessage(peer, wire_bytes);
  if (small_enough) return true;
  const char* const address = zmq_msg_gets(frame.handle(), "Peer-Address");
  const std::string sender = address == nullptr ? "an unknown address" : address;
  complaints_.Warn(sender,
                   StrCat("dropped a message of ", total, " bytes in ", part_count, " parts from ",
                          sender, ": the limits are ", limits_.max_message_bytes,
                          " bytes (max_message_bytes) and ", limits_.max_message_parts, " parts"));
  return false;
}

void ZmqSocket::Look(bool is_idle) {
  if (watch_) watch_->Look(is_idle);
  complaints_.WarnOfCounted();
}

bool ZmqSocket::TryReceiveFrame(zmq::message_t& frame) {
  while (zmq_msg_recv(frame.handle(), handle(), ZMQ_DONTWAIT) < 0) {
    if (zmq_errno() == EAGAIN) return false;
    CHECK_EQ(zmq_errno(), EINTR) << zmq_strerror(zmq_errno());
  }
  return true;
}

void ZmqSocket::DropQueued() {
  const int no_linger = 0;
  CHECK_EQ(zmq_setsockopt(handle(), ZMQ_LINGER, &no_linger, sizeof(no_linger)), 0);
}

void* ZmqSocket::handle() const { return socket_->handle(); }

}  // namespace weir::transport
