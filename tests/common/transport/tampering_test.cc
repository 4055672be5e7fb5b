// What somebody between two ends who belong can do: they do not take what he changes, nor what he
// says again.
#include <gtest/gtest.h>

#include <mutex>
#include <vector>

#include "tests/common/transport/raw_socket.h"
#include "tests/common/transport/secured_server.h"
#include "tests/common/transport/tampering_proxy.h"

namespace weir::transport {
namespace {

// Of the client's frames.
constexpr size_t kHello = 0, kInitiate = 1, kFirstMessage = 2, kSecondMessage = 3;

class TamperedWith : public SecuredServer {
 protected:
  // So many words of a client behind a proxy come: it says two.
  void ExpectWords(int expected, TamperingProxy::Change change) {
    const TamperingProxy proxy(address_, std::move(change));
    const auto client = Client(trainer_, list_);
    const ConnectionId connection = client->Open(proxy.address(), kServer).value();
    for (const char* word : {"first", "second"}) {
      CHECK(client->Send(connection, TextMessage({word})).ok());
    }
    int words = 0;
    while (server_->Receive(words < expected ? kLongMs : kRefusedMs)) ++words;
    EXPECT_EQ(words, expected);
    client->Close(connection);  // or it would wait for what is queued
  }
};

TamperingProxy::Change Changed(size_t number, const std::function<void(std::string*)>& change) {
  return [=](size_t at, std::string frame) {
    if (at == number) change(&frame);
    return frame;
  };
}

TEST_F(TamperedWith, WhatIsNotIsHeard) {
  ExpectWords(2, [](size_t, const std::string& frame) { return frame; });
}

TamperingProxy::Change Flipped(size_t number, size_t at) {
  return Changed(
      number, [at](std::string* frame) { frame->at(at) = static_cast<char>(frame->at(at) ^ 1); });
}

// Of a command of so many bytes behind the name.
void Shorten(std::string* frame) {
  constexpr char kShortCommand = 4, kBytes = 100;
  const std::string name = "\x08INITIATE";
  const std::string body = frame->substr(9 + name.size(), kBytes);
  *frame = {kShortCommand, static_cast<char>(name.size() + body.size())};
  *frame += name + body;
}

// Behind the flags, the length and the name of a command.
constexpr size_t kHelloBody = 2 + 6, kInitiateBody = 9 + 9;

const struct {
  const char* what;
  TamperingProxy::Change change;
} tampered_handshakes[] = {
    {"HELLO of another name", Flipped(kHello, 3)},
    {"HELLO of another key", Flipped(kHello, kHelloBody + 74)},
    {"HELLO of another nonce", Flipped(kHello, kHelloBody + 106)},
    {"HELLO with another box", Flipped(kHello, kHelloBody + 114)},
    {"INITIATE of another name", Flipped(kInitiate, 10)},
    {"INITIATE with another cookie", Flipped(kInitiate, kInitiateBody)},
    {"INITIATE with the end of another cookie", Flipped(kInitiate, kInitiateBody + 95)},
    {"INITIATE of another nonce", Flipped(kInitiate, kInitiateBody + 96)},
    {"INITIATE with another box", Flipped(kInitiate, kInitiateBody + 104)},
    {"INITIATE that is too short", Changed(kInitiate, Shorten)},
};

TEST_F(TamperedWith, HandshakesThatAreChangedOnTheWayEnd) {
  for (const auto& [what, change] : tampered_handshakes) {
    SCOPED_TRACE(what);
    ExpectWords(0, change);
    ExpectServed();
  }
}

TEST_F(TamperedWith, MessagesThatAreChangedOnTheWayAreNotTaken) {
  for (const size_t at : {size_t{20}, size_t{30}}) {
    ExpectWords(1, Flipped(kSecondMessage, at));
  }
  ExpectServed();
}

TEST_F(TamperedWith, WhatIsSaidAgainOnTheSameConnectionIsNotTaken) {
  ExpectWords(1, Changed(kFirstMessage, [](std::string* frame) { *frame += *frame; }));
  ExpectServed();
}

TEST_F(TamperedWith, WhatWasSaidOnAnotherConnectionIsNotTaken) {
  std::mutex mutex;
  std::string said;
  ExpectWords(2, [&](size_t, const std::string& frame) {
    const std::lock_guard lock(mutex);
    said += frame;
    return frame;
  });
  const int again = ConnectTo(address_);
  SayAll(again, Greeting("CURVE") + said);
  EXPECT_FALSE(server_->Receive(kRefusedMs).has_value());
  close(again);
  ExpectServed();
}

}  // namespace
}  // namespace weir::transport
