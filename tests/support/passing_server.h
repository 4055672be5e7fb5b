// A server's transport that hands everything on to another one. Tests override what they change of
// it.
//
// Thread rule: as the other one's. Owns it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/transport/transport.h"

namespace weir::test {

class PassingServer : public transport::ServerTransport {
 public:
  explicit PassingServer(std::unique_ptr<transport::ServerTransport> inner)
      : inner_(std::move(inner)) {}

  Result<std::string> Bind(const std::string& address) override { return inner_->Bind(address); }
  std::optional<transport::IncomingMessage> Receive(int64_t timeout_ms) override {
    return inner_->Receive(timeout_ms);
  }
  Status Send(const transport::PeerId& peer, transport::Message message) override {
    return inner_->Send(peer, std::move(message));
  }
  void Welcome(const transport::PeerId& peer) override { inner_->Welcome(peer); }
  std::vector<transport::PeerId> TakeGone() override { return inner_->TakeGone(); }
  void Wake() override { inner_->Wake(); }

 private:
  const std::unique_ptr<transport::ServerTransport> inner_;
};

}  // namespace weir::test
