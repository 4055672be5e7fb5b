// Between a client and a server on loopback: passes on what both say, and what the client says as a
// test has it.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "common/base/check.h"
#include "tests/common/transport/raw_socket.h"

namespace weir::transport {

class TamperingProxy {
 public:
  // What is sent on in place of the client's frame of that number, from 0.
  using Change = std::function<std::string(size_t number, const std::string& frame)>;

  TamperingProxy(std::string server, Change change)
      : server_(std::move(server)), change_(std::move(change)) {
    sockaddr_in any = LoopbackAt("0");
    CHECK_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&any), sizeof(any)), 0);
    CHECK_EQ(listen(listener_, 10), 0);
    socklen_t length = sizeof(any);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&any), &length);
    address_ = "tcp://127.0.0.1:" + std::to_string(ntohs(any.sin_port));
    thread_ = std::thread([this] { PassOne(); });
  }
  // After its client has gone.
  ~TamperingProxy() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  TamperingProxy(const TamperingProxy&) = delete;  // its thread points to it
  TamperingProxy& operator=(const TamperingProxy&) = delete;

  const std::string& address() const { return address_; }

 private:
  void PassOne() {
    const int client = accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    const int server = ConnectTo(server_);
    std::thread back([&] {
      for (std::string some = HearBytes(server, 1); !some.empty(); some = HearBytes(server, 1)) {
        SayAll(client, some);
      }
      shutdown(client, SHUT_RDWR);
    });
    for (size_t i = 0; i < kGreetingBytes; ++i) {  // each end waits for the other's
      SayAll(server, HearBytes(client, 1));
    }
    size_t number = 0;
    for (std::string frame = HearFrame(client); !frame.empty(); frame = HearFrame(client)) {
      SayAll(server, change_(number++, frame));
    }
    shutdown(server, SHUT_RDWR);
    back.join();
    close(server);
    close(client);
  }

  const std::string server_;
  const Change change_;
  const int listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string address_;
  std::thread thread_;
};

}  // namespace weir::transport
