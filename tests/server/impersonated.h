// A server's transport for tests, whose messages may be said to come from somebody else, over the
// connection of who said hello.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "common/transport/transport.h"

namespace weir::server {

// name: of who sends; empty: whoever does.
class Impersonated final : public transport::ServerTransport {
 public:
  Impersonated(std::unique_ptr<transport::ServerTransport> real, const transport::PeerName* name)
      : real_(std::move(real)), name_(name) {}

  Result<std::string> Bind(const std::string& address) override { return real_->Bind(address); }
  std::optional<transport::IncomingMessage> Receive(int64_t timeout_ms) override {
    auto incoming = real_->Receive(timeout_ms);
    if (incoming && !name_->empty()) incoming->name = *name_;
    return incoming;
  }
  Status Send(const transport::PeerId& peer, transport::Message message) override {
    return real_->Send(peer, std::move(message));
  }
  void Wake() override { real_->Wake(); }

 private:
  const std::unique_ptr<transport::ServerTransport> real_;
  const transport::PeerName* const name_;
};

}  // namespace weir::server
