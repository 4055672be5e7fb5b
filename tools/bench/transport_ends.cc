// common/transport as the I/O threads of worker and server use it.

#include <memory>
#include <optional>
#include <utility>

#include "common/base/random.h"
#include "common/transport/zmq_transport.h"
#include "tools/bench/message_ends.h"

namespace weir::bench {
namespace {

using transport::ClientTransport;
using transport::ConnectionId;
using transport::Message;
using transport::Security;
using transport::ServerTransport;

constexpr const char* kServer = "server 0";

// About as long as the header of a push.
constexpr size_t kHeaderBytes = 32;

Message WithHeader(const Payload& payload) {
  Message message;
  message.parts.reserve(2);
  message.parts.emplace_back(Bytes(kHeaderBytes));
  message.parts.push_back(payload.part);
  return message;
}

std::optional<ByteSpan> PayloadOf(const Message& message) {
  if (message.parts.size() != 2 || message.parts[0].size() != kHeaderBytes) return std::nullopt;
  return message.parts[1].span();
}

class TransportServerEnd final : public MessageEnd {
 public:
  explicit TransportServerEnd(std::unique_ptr<ServerTransport> transport)
      : transport_(std::move(transport)) {}

  Status Send(const Payload& payload) override {
    return transport_->Send(last_.peer, WithHeader(payload));
  }
  std::optional<ByteSpan> Receive() override {
    last_.message = {};  // as libzmq does, before it waits
    auto incoming = transport_->Receive(kGiveUpMs);
    if (!incoming) return std::nullopt;
    last_ = *std::move(incoming);
    return PayloadOf(last_.message);
  }

 private:
  std::unique_ptr<ServerTransport> transport_;
  transport::IncomingMessage last_;
};

class TransportClientEnd final : public MessageEnd {
 public:
  TransportClientEnd(std::unique_ptr<ClientTransport> transport, ConnectionId connection)
      : transport_(std::move(transport)), connection_(connection) {}

  Status Send(const Payload& payload) override {
    return transport_->Send(connection_, WithHeader(payload));
  }
  std::optional<ByteSpan> Receive() override {
    last_ = {};
    auto incoming = transport_->Receive(kGiveUpMs);
    if (!incoming) return std::nullopt;
    last_ = std::move(incoming->message);
    return PayloadOf(last_);
  }

 private:
  std::unique_ptr<ClientTransport> transport_;
  const ConnectionId connection_;
  Message last_;
};

transport::Part RandomPart(size_t byte_count, uint64_t seed) {
  Bytes bytes(byte_count);
  RandomStream random(seed);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.Next());
  return transport::Part(std::move(bytes));
}

Result<MessageEnds> MakeEnds(const std::optional<Security>& of_server,
                             const std::optional<Security>& of_client) {
  // Its peers are watched, as those of a server are.
  transport::Limits limits;
  limits.max_stranger_bytes = limits.max_message_bytes;
  auto server = transport::MakeZmqServerTransport(limits, of_server);
  WEIR_ASSIGN_OR_RETURN(const std::string address, server->Bind("tcp://127.0.0.1:0"));
  auto client = transport::MakeZmqClientTransport({}, of_client);
  WEIR_ASSIGN_OR_RETURN(const ConnectionId connection, client->Open(address, kServer));
  return MessageEnds{.client = std::make_unique<TransportClientEnd>(std::move(client), connection),
                     .server = std::make_unique<TransportServerEnd>(std::move(server))};
}

}  // namespace

Payload::Payload(size_t byte_count, uint64_t seed) : part(RandomPart(byte_count, seed)) {}

Result<MessageEnds> MakeTransportEnds() { return MakeEnds({}, {}); }

Result<MessageEnds> MakeSecuredEnds() {
  WEIR_ASSIGN_OR_RETURN(const transport::KeyPair server, transport::MakeKeyPair());
  WEIR_ASSIGN_OR_RETURN(const transport::KeyPair client, transport::MakeKeyPair());
  const auto list = std::make_shared<transport::KeyList>(
      transport::KeyList::Keys{{kServer, server.public_key}, {"trainer 0", client.public_key}});
  return MakeEnds(Security{server, list}, Security{client, list});
}

}  // namespace weir::bench
