// A server's end of its connections, which says nothing any more once the server has crashed.
//
// Thread rule: one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/transport/transport.h"

namespace weir::simulation {

class SilentServer final : public transport::ServerTransport {
 public:
  SilentServer(std::unique_ptr<transport::ServerTransport> inner, std::function<bool()> is_silent)
      : inner_(std::move(inner)), is_silent_(std::move(is_silent)) {}

  Result<std::string> Bind(const std::string& address) override { return inner_->Bind(address); }
  std::optional<transport::IncomingMessage> Receive(int64_t timeout_ms) override {
    return inner_->Receive(timeout_ms);
  }
  Status Send(const transport::PeerId& peer, transport::Message message) override {
    if (is_silent_()) return OkStatus();
    return inner_->Send(peer, std::move(message));
  }
  void Welcome(const transport::PeerId& peer) override { inner_->Welcome(peer); }
  void Wake() override { inner_->Wake(); }

 private:
  const std::unique_ptr<transport::ServerTransport> inner_;
  const std::function<bool()> is_silent_;
};

}  // namespace weir::simulation
