// What a server with keys hears before it knows who speaks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/transport/stranger_book.h"
#include "tests/common/transport/raw_socket.h"
#include "tests/common/transport/secured_server.h"

namespace weir::transport {
namespace {

// Who speaks ZMTP 3, as RFC 23 has it, as far as it wants to.
class RawPeer {
 public:
  RawPeer(const std::string& address, const std::string& mechanism) : socket_(ConnectTo(address)) {
    Say(Greeting(mechanism));
  }
  ~RawPeer() { close(socket_); }
  RawPeer(const RawPeer&) = delete;  // owns a socket
  RawPeer& operator=(const RawPeer&) = delete;

  void Say(const std::string& bytes) { SayAll(socket_, bytes); }
  // A command of a name and what comes behind it.
  void Command(const std::string& name, const std::string& body) {
    std::string text(1, static_cast<char>(name.size()));
    text += name + body;
    Say(std::string(1, '\4') + static_cast<char>(text.size()) + text);
  }
  // Reads what it has heard by now.
  bool is_open() const {
    char heard[1 << 10];
    ssize_t count = 0;
    do {
      count = recv(socket_, heard, sizeof(heard), MSG_DONTWAIT);
    } while (count > 0);
    return count < 0 && errno == EAGAIN;
  }
  // All that it hears until its connection ends.
  std::string HearAll() {
    std::string all(1 << 16, 0);
    size_t heard = 0;
    for (;;) {
      const ssize_t count = recv(socket_, all.data() + heard, all.size() - heard, 0);
      if (count <= 0) return all.substr(0, heard);
      heard += static_cast<size_t>(count);
    }
  }

 private:
  const int socket_;
};

struct Said {
  const char* what;
  const char* mechanism;
  std::string name, body;
};

// "HELLO" of CurveZMQ (RFC 26): version 1.0, 72 bytes of padding, a short-term key, a number and a
// box, 192 bytes behind the name in all.
std::string HelloBody(char major, char minor, size_t bytes) {
  std::string body(bytes, '\0');
  body[0] = major, body[1] = minor;
  return body;
}

const Said malformed_handshakes[] = {
    {"NULL", "NULL", "READY", std::string("\x0bSocket-Type\0\0\0\6", 16) + "DEALER"},
    {"PLAIN", "PLAIN", "HELLO", std::string("\5admin\5admin", 12)},
    {"a mechanism that nobody knows", "GSSAPI", "INITIATE", "x"},
    {"no mechanism", "", "READY", ""},
    {"HELLO with a box of nothing", "CURVE", "HELLO", HelloBody(1, 0, 194)},
    {"HELLO of another version", "CURVE", "HELLO", HelloBody(2, 0, 194)},
    {"HELLO of another minor version", "CURVE", "HELLO", HelloBody(1, 9, 194)},
    {"HELLO that is too short", "CURVE", "HELLO", HelloBody(1, 0, 193)},
    {"HELLO that is too long", "CURVE", "HELLO", HelloBody(1, 0, 195)},
    {"HELLO of two bytes", "CURVE", "HELLO", HelloBody(1, 0, 2)},
    {"INITIATE before HELLO", "CURVE", "INITIATE", std::string(240, 'x')},
    {"a message before HELLO", "CURVE", "MESSAGE", std::string(60, 'x')},
    {"READY as without security", "CURVE", "READY", ""},
    {"a command without a name", "CURVE", "", ""},
};

TEST_F(SecuredServer, EndsMalformedHandshakesAndServesOthers) {
  for (const Said& said : malformed_handshakes) {
    RawPeer peer(address_, said.mechanism);
    peer.Command(said.name, said.body);
    peer.Say(std::string("\1\0\0\1x", 5));  // and a message, as if it were let in
    peer.HearAll();                         // which ends
    EXPECT_FALSE(server_->Receive(10).has_value()) << said.what;
    ExpectServed();
  }
}

// From one host, and says nothing.
int ConnectInSilence(const std::string& address) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in from = LoopbackAt("0"), to = LoopbackAt(address.substr(address.rfind(':') + 1));
  from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
  CHECK_EQ(bind(descriptor, reinterpret_cast<sockaddr*>(&from), sizeof(from)), 0);
  static_cast<void>(connect(descriptor, reinterpret_cast<sockaddr*>(&to), sizeof(to)));
  return descriptor;
}

// They come until it is too much; on a slow machine the first ones have gone by then.
TEST_F(SecuredServer, BearsStrangersThatDoNotEnd) {
  const auto known = Client(trainer_, list_);
  EXPECT_EQ(NameOfWordFrom(known.get(), kLongMs), kTrainer);
  std::deque<int> silent;
  const std::string shut = "no connections are taken from 127.0.0.2";
  for (const Deadline deadline(kLongMs); !LogHas(shut) && deadline.RemainingMs() > 0;) {
    for (int i = 0; i < 20; ++i) silent.push_back(ConnectInSilence(address_));
    Turn(nullptr, 20);
    while (std::ssize(silent) > StrangerBook::kOfHost.most + 50) {
      close(silent.front());
      silent.pop_front();
    }
  }
  EXPECT_TRUE(LogHas(shut)) << log_;
  EXPECT_EQ(NameOfWordFrom(known.get(), kLongMs), kTrainer);
  ExpectServed();
  for (const int descriptor : silent) close(descriptor);
}

// Each less than a stranger may, and all of them too much.
TEST_F(SecuredServer, BoundsWhatStrangersHaveBegunTogether) {
  constexpr size_t kBegun = 900'000, kPeers = 100, kMost = 64 << 20;
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (size_t i = 0; i < kPeers; ++i) {
    peers.push_back(std::make_unique<RawPeer>(address_, "CURVE"));
    peers.back()->Say(std::string("\2\0\0\0\0\0\xf0\0\0", 9) + std::string(kBegun, 'x'));
  }
  const auto count_open = [&] {
    return std::ranges::count_if(peers, [](const auto& peer) { return peer->is_open(); });
  };
  ExpectNothingUntilTheLogHas("strangers have sent too much", nullptr);
  const Deadline deadline(kLongMs);
  while (static_cast<size_t>(count_open()) * kBegun > kMost && deadline.RemainingMs() > 0) {
    EXPECT_FALSE(server_->Receive(10).has_value());
  }
  EXPECT_LE(static_cast<size_t>(count_open()) * kBegun, kMost);
  EXPECT_GT(count_open(), 0) << "the others may go on";
  ExpectServed();
}

}  // namespace
}  // namespace weir::transport
