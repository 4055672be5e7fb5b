// A client's transport that can run out of memory.
#pragma once

#include <atomic>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "common/transport/transport.h"

namespace weir::test {

class NoMemoryClient final : public transport::ClientTransport {
 public:
  explicit NoMemoryClient(std::unique_ptr<transport::ClientTransport> client)
      : client_(std::move(client)) {}

  // From now on there is no memory for a message. Any thread.
  void RunOut() {
    is_out_ = true;
    client_->Wake();
  }

  Result<transport::ConnectionId> Open(const std::string& address,
                                       const transport::PeerName& name) override {
    return client_->Open(address, name);
  }
  void Close(transport::ConnectionId connection) override { client_->Close(connection); }
  Status Send(transport::ConnectionId connection, transport::Message message) override {
    return client_->Send(connection, std::move(message));
  }
  std::optional<transport::ConnectionMessage> Receive(int64_t timeout_ms) override {
    auto message = client_->Receive(timeout_ms);
    if (is_out_) throw std::bad_alloc();
    return message;
  }
  std::vector<transport::ConnectionId> TakeBroken() override { return client_->TakeBroken(); }
  void Wake() override { client_->Wake(); }

 private:
  const std::unique_ptr<transport::ClientTransport> client_;
  std::atomic<bool> is_out_ = false;
};

}  // namespace weir::test
