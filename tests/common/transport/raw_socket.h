// TCP sockets on loopback without ZeroMQ, and what is said over them: ZMTP 3 (RFC 23). Behind a
// greeting of 64 bytes come frames, each of flags, a length of one or eight bytes, and a body.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/check.h"

namespace weir::transport {

inline constexpr size_t kGreetingBytes = 64;

// mechanism: of security, "NULL" or "CURVE".
inline std::string Greeting(const std::string& mechanism) {
  std::string greeting("\xff\0\0\0\0\0\0\0\1\x7f\3\0", 12);
  greeting += mechanism;
  greeting.resize(kGreetingBytes);
  return greeting;
}

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

}  // namespace weir::transport
