// Between a client and a server on loopback: passes on what both say, and what the client says as a
// test has it. Frames are those of ZMTP 3 (RFC 23): behind a greeting of 64 bytes each has flags, a
// length of one or eight bytes, and a body.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/check.h"

namespace weir::transport {

inline sockaddr_in LoopbackAt(const std::string& port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(port)));
  return address;
}

inline int ConnectTo(const std::string& address) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in to = LoopbackAt(address.substr(address.rfind(':') + 1));
  CHECK_EQ(connect(descriptor, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  return descriptor;
}

inline void SayAll(int descriptor, const std::string& bytes) {
  static_cast<void>(send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

// Exactly so many bytes; fewer when the connection has ended.
inline std::string HearBytes(int descriptor, size_t count) {
  std::string bytes(count, 0);
  size_t heard = 0;
  while (heard < count) {
    const ssize_t got = recv(descriptor, bytes.data() + heard, count - heard, 0);
    if (got <= 0) break;
    heard += static_cast<size_t>(got);
  }
  return bytes.substr(0, heard);
}

// With its flags and length; empty at the end.
inline std::string HearFrame(int descriptor) {
  constexpr char kLong = 2;
  std::string frame = HearBytes(descriptor, 2);
  if (frame.size() < 2) return {};
  size_t length = static_cast<uint8_t>(frame[1]);
  if ((frame[0] & kLong) != 0) {
    frame += HearBytes(descriptor, 7);
    length = 0;
    for (size_t i = 1; i < frame.size(); ++i) length = length << 8 | static_cast<uint8_t>(frame[i]);
  }
  return frame + HearBytes(descriptor, length);
}

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
    for (int i = 0; i < 64; ++i) SayAll(server, HearBytes(client, 1));  // each waits for the other
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
