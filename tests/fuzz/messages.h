// What fuzz targets of messages share: an input is messages, each of some sender, whose headers and
// frames get their checksums here, which would stop nearly every damaged input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/transport/transport.h"
#include "tests/fuzz/target.h"
#include "tests/support/passing_server.h"

namespace weir::fuzz {

struct SentMessage {
  uint8_t sender = 0;  // below kSenders
  transport::Message message;
};
inline constexpr size_t kSenders = 4;

std::vector<SentMessage> ReadMessages(const uint8_t* data, size_t size);
void AppendMessage(const SentMessage& sent, std::string* input);
std::string InputOf(const std::vector<SentMessage>& messages);

// A server's end that remembers what passes it: for seeds.
class TappedServer final : public test::PassingServer {
 public:
  using PassingServer::PassingServer;

  std::optional<transport::IncomingMessage> Receive(int64_t timeout_ms) override {
    auto incoming = PassingServer::Receive(timeout_ms);
    if (incoming) received_.push_back({0, incoming->message});
    return incoming;
  }
  Status Send(const transport::PeerId& peer, transport::Message message) override {
    sent_.push_back({0, message});
    return PassingServer::Send(peer, std::move(message));
  }

  const std::vector<SentMessage>& received() const { return received_; }
  const std::vector<SentMessage>& sent() const { return sent_; }

 private:
  std::vector<SentMessage> received_, sent_;
};

}  // namespace weir::fuzz
