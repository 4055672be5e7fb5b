// A server's transport for tests, whose messages may be said to come from somebody else, over the
// connection of who said hello.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "tests/support/passing_server.h"

namespace weir::server {

// name: of who sends; empty: whoever does.
class Impersonated final : public test::PassingServer {
 public:
  Impersonated(std::unique_ptr<transport::ServerTransport> real, const transport::PeerName* name)
      : PassingServer(std::move(real)), name_(name) {}

  std::optional<transport::IncomingMessage> Receive(int64_t timeout_ms) override {
    auto incoming = PassingServer::Receive(timeout_ms);
    if (incoming && !name_->empty()) incoming->name = *name_;
    return incoming;
  }

 private:
  const transport::PeerName* const name_;
};

}  // namespace weir::server
