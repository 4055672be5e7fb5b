// Who gets in, and who does not. A server of the list's keys, on loopback, and all that may come.
#include "common/transport/security.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "tests/common/transport/secured_server.h"

namespace weir::transport {
namespace {

// The whole contract, encrypted.
class Secured {
 public:
  auto MakeServer(const Limits& limits) {
    return MakeZmqServerTransport(limits, Security{server_, list_});
  }
  auto MakeClient(const Limits& limits) {
    return MakeZmqClientTransport(limits, Security{client_, list_});
  }
  std::string FreeAddress() {
    return MakeZmqServerTransport({})->Bind("tcp://127.0.0.1:0").value();
  }
  std::string BadAddress() { return "tcp://nonsense"; }

 private:
  const KeyPair server_ = NewPair(), client_ = NewPair();
  // The contract names nobody.
  const std::shared_ptr<const KeyList> list_ = std::make_shared<KeyList>(
      KeyList::Keys{{"", server_.public_key}, {kTrainer, client_.public_key}});
};

INSTANTIATE_TYPED_TEST_SUITE_P(Secured, TransportContract, Secured);

TEST_F(SecuredServer, KnowsWhoSendsWhat) {
  ExpectServed();
  EXPECT_EQ(NameOfWordFrom(Client(other_, list_).get(), kLongMs), "trainer 4");
  ExpectServed();
}

TEST_F(SecuredServer, AnswersToWhoSent) {
  const auto client = Client(trainer_, list_);
  const ConnectionId connection = WelcomedConnection(client.get());
  CHECK(client->Send(connection, RandomMessage(3'000'000, 1)).ok());
  auto incoming = server_->Receive(kLongMs);
  ASSERT_TRUE(incoming.has_value());
  EXPECT_EQ(incoming->name, kTrainer) << "of a large first part, too";
  ASSERT_TRUE(server_->Send(incoming->peer, std::move(incoming->message)).ok());
  const auto echo = client->Receive(kLongMs);
  ASSERT_TRUE(echo.has_value());
  EXPECT_EQ(Texts(echo->message), Texts(RandomMessage(3'000'000, 1)));
}

TEST_F(SecuredServer, RefusesWhoHasNoKey) {
  ExpectRefused(MakeZmqClientTransport(Watched()).get(), "one end has keys");
}

TEST_F(SecuredServer, RefusesAKeyThatIsNotOnTheList) {
  const auto client = Client(stranger_, list_);
  CHECK(client->Send(client->Open(address_, kServer).value(), TextMessage({"word"})).ok());
  ExpectNothingUntilTheLogHas(StrCat(stranger_.public_key, ", is not on the list"), client.get());
  ExpectNothingUntilTheLogHas("it refuses who has this process's key", client.get());
  Turn(client.get(), kRefusedMs);
  EXPECT_EQ(log_.find("it refuses"), log_.rfind("it refuses")) << "the client alone: " << log_;
  ExpectServed();
}

TEST_F(SecuredServer, RefusesAPublicKeyWithoutItsSecretOne) {
  ExpectRefused(Client({trainer_.public_key, stranger_.secret_key}, list_).get(),
                "does not have its own");
}

TEST_F(SecuredServer, IsNotSpokenToByWhoExpectsAnotherServer) {
  const auto elsewhere = std::make_shared<KeyList>(KeyList::Keys{{kServer, stranger_.public_key}});
  ExpectRefused(Client(trainer_, elsewhere).get(), "expects other keys of this process");
}

TEST_F(SecuredServer, EndsTheConnectionsOfAKeyThatIsTakenOffTheList) {
  const auto client = Client(trainer_, list_), another = Client(other_, list_);
  const ConnectionId connection = client->Open(address_, kServer).value();
  CHECK(client->Send(connection, TextMessage({"word"})).ok());
  ASSERT_EQ(server_->Receive(kLongMs)->name, kTrainer);
  list_->Replace({{kServer, own_.public_key}, {"trainer 4", other_.public_key}});
  CHECK(client->Send(connection, TextMessage({"too late"})).ok());
  ExpectBroken(client.get());
  EXPECT_EQ(NameOfWordFrom(another.get(), kLongMs), "trainer 4");
  list_->Replace({{kServer, own_.public_key}, {kTrainer, trainer_.public_key}});
  ExpectServed();
}

TEST_F(SecuredServer, IsLeftByItsClientsWhenTheListHasAnotherKeyOfItOrNone) {
  const auto client = Client(trainer_, list_);
  const ConnectionId connection = WelcomedConnection(client.get());
  list_->Replace({{kServer, stranger_.public_key}, {kTrainer, trainer_.public_key}});
  ExpectBroken(client.get());
  CHECK(client->Send(connection, TextMessage({"for the other"})).ok());
  EXPECT_FALSE(server_->Receive(kRefusedMs).has_value());
  list_->Replace({{kTrainer, trainer_.public_key}});
  ExpectBroken(client.get());
  EXPECT_FALSE(client->Send(connection, TextMessage({"for nobody"})).ok());
  list_->Replace({{kServer, own_.public_key}, {kTrainer, trainer_.public_key}});
  ExpectBroken(client.get());
  CHECK(client->Send(connection, TextMessage({"for this one"})).ok());
  const auto incoming = server_->Receive(kLongMs);
  ASSERT_TRUE(incoming.has_value());
  EXPECT_EQ(Texts(incoming->message), std::vector<std::string>{"for this one"});
}

// However many parts: what the kernel counts is more than they have.
TEST_F(SecuredServer, ListensForEverToWhoseMessagesAreWhole) {
  const auto client = Client(trainer_, list_);
  const ConnectionId connection = client->Open(address_, kServer).value();
  Message message;
  for (int i = 0; i < 2500; ++i) message.parts.emplace_back(Bytes{1});
  PeerId peer;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(client->Send(connection, message).ok());
    const auto incoming = server_->Receive(kLongMs);
    ASSERT_TRUE(incoming.has_value());
    if (i == 0) peer = incoming->peer;
    ASSERT_EQ(incoming->peer, peer) << "on the same connection, message " << i;
    for (int look = 0; i > 15 && look < 3; ++look) EXPECT_FALSE(server_->Receive(20).has_value());
  }
}

TEST_F(SecuredServer, GetsItsNameFromTheListAsItIsNow) {
  const auto client = Client(trainer_, list_);
  EXPECT_EQ(NameOfWordFrom(client.get(), kLongMs), kTrainer);
  list_->Replace({{kServer, own_.public_key}, {"trainer 5", trainer_.public_key}});
  EXPECT_EQ(NameOfWordFrom(client.get(), kLongMs), "trainer 5");
}

TEST_F(SecuredServer, OpensNothingToWhomItHasNoKeyOf) {
  const Status status = Client(trainer_, list_)->Open(address_, "server 7").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidConfig);
  EXPECT_NE(status.message().find("server 7"), std::string::npos) << status;
}

TEST(WithoutSecurity, AServerThatIsNotTheOneIsNotSpokenTo) {
  const KeyPair own = NewPair(), server = NewPair();
  const auto plain = MakeZmqServerTransport(Watched());
  const std::string address = plain->Bind("tcp://127.0.0.1:0").value();
  const auto list = std::make_shared<KeyList>(KeyList::Keys{{kServer, server.public_key}});
  const auto client = MakeZmqClientTransport(Watched(), Security{own, list});
  CHECK(client->Send(client->Open(address, kServer).value(), TextMessage({"secret"})).ok());
  EXPECT_FALSE(plain->Receive(kRefusedMs).has_value());
}

}  // namespace
}  // namespace weir::transport
