// A server without a thread: its steps and what it does in the background are the test's, and so
// are its time and names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "common/session/header_message.h"
#include "common/transport/loopback.h"
#include "server/server.h"
#include "tests/server/impersonated.h"
#include "tests/server/server_test_support.h"
#include "tests/support/manual_executor.h"

namespace weir::server {
namespace {

constexpr char kSteppedAddress[] = "inproc://stepped";

class ServerSteps : public testing::Test {
 protected:
  ServerSteps() { MakeServer(kSteppedAddress, network_.MakeServer()); }
  void MakeServer(const std::string& address,
                  std::unique_ptr<transport::ServerTransport> transport) {
    CHECK(transport->Bind(address).ok());
    server_ =
        std::make_unique<Server>(TinyConfig(), 1, 0, std::move(transport),
                                 ServerOptions{.environment = {.clock = clock_,
                                                               .nonce = [this] { return ++names_; },
                                                               .executor = executor_}});
  }
  void Load() {
    EXPECT_FALSE(server_->Step(0).has_value());
    EXPECT_TRUE(executor_.RunOne());
    EXPECT_FALSE(server_->Step(0).has_value());
    EXPECT_TRUE(server_->is_loaded());
  }

  v1::Header Join() const {
    v1::Header header;
    *header.mutable_join()->mutable_identity() = server_->identity();
    header.mutable_join()->set_nonce(5);
    return header;
  }

  v1::Header Hello(uint64_t incarnation, uint64_t run) const {
    v1::Header header;
    *header.mutable_hello()->mutable_identity() = server_->identity();
    header.mutable_hello()->set_incarnation(incarnation);
    header.mutable_hello()->set_connection(1);
    header.mutable_hello()->set_run(run);
    return header;
  }

  static v1::Header NextHeader(transport::ClientTransport& client) {
    const auto incoming = client.Receive(0);
    CHECK(incoming.has_value());
    return session::ParseHeader(incoming->message).value();
  }

  // Over another connection.
  v1::Header Ask(transport::ClientTransport& client, const v1::Header& header) {
    CHECK(client.Send(client.Open(kSteppedAddress).value(), MakeParts(header, {})).ok());
    EXPECT_FALSE(server_->Step(0).has_value());
    return NextHeader(client);
  }

  transport::LoopbackNetwork network_;
  ManualClock clock_;
  test::ManualExecutor executor_;
  uint64_t names_ = 100;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerSteps, SayThatItLoadsUntilItHasItsParameters) {
  const auto client = network_.MakeClient();
  const auto connection = client->Open(kSteppedAddress).value();
  EXPECT_FALSE(server_->Step(0).has_value());
  EXPECT_FALSE(server_->is_loaded());
  EXPECT_TRUE(server_->loading().has_value());
  ASSERT_TRUE(client->Send(connection, MakeParts(Join(), {})).ok());
  EXPECT_FALSE(server_->Step(0).has_value());
  EXPECT_TRUE(NextHeader(*client).refusal().has_loading());
  Load();
  EXPECT_FALSE(server_->loading().has_value());
  ASSERT_TRUE(client->Send(connection, MakeParts(Join(), {})).ok());
  EXPECT_FALSE(server_->Step(0).has_value());
  EXPECT_TRUE(NextHeader(*client).has_join_reply());
}

TEST_F(ServerSteps, AnswerWhatHasCome) {
  Load();
  const auto client = network_.MakeClient();
  const auto connection = client->Open(kSteppedAddress).value();
  ASSERT_TRUE(client->Send(connection, MakeParts(Join(), {})).ok());
  EXPECT_FALSE(client->Receive(0).has_value());
  EXPECT_FALSE(server_->Step(0).has_value());
  const uint64_t run = NextHeader(*client).join_reply().run();
  EXPECT_GT(run, 100u) << "a name of this environment";
  EXPECT_LE(run, names_);
}

TEST_F(ServerSteps, TakeWhatIsSaidFromWhoMaySayIt) {
  Load();
  EXPECT_EQ(Ask(*network_.MakeClient({}, "trainer 1"), Join()).refusal().reason(),
            "who has the key of trainer 1 may not speak for trainer 0");
  EXPECT_TRUE(Ask(*network_.MakeClient({}, "trainer 0"), Join()).has_join_reply());
}

TEST_F(ServerSteps, TakeWhatNamesNobodyFromWhoSaidHelloOverTheConnection) {
  transport::PeerName name;
  auto transport = std::make_unique<Impersonated>(network_.MakeServer(), &name);
  MakeServer("inproc://impersonated", std::move(transport));
  Load();
  const auto client = network_.MakeClient({}, "trainer 0");
  const auto connection = client->Open("inproc://impersonated").value();
  const auto ask = [&](const v1::Header& header) {
    CHECK(client->Send(connection, MakeParts(header, {})).ok());
    EXPECT_FALSE(server_->Step(0).has_value());
    return NextHeader(*client);
  };
  const uint64_t run = ask(Join()).join_reply().run();
  ask(Hello(1, run));
  v1::Header probe;
  probe.mutable_probe()->set_request_id(7);
  while (client->Receive(0)) continue;  // all parameters
  EXPECT_EQ(ask(probe).probe_reply().request_id(), 7u);
  name = "trainer 1";
  EXPECT_EQ(ask(probe).refusal().reason(),
            "who has the key of trainer 1 may not speak for trainer 0");
}

// Its number alone is worth nothing, and the process that has the seat keeps it.
TEST_F(ServerSteps, OpenNoSessionForAProcessThatWasNotLetIn) {
  Load();
  const auto client = network_.MakeClient();
  const v1::Header hello = Hello(1, Ask(*client, Join()).join_reply().run());
  v1::Header never = hello;
  never.mutable_hello()->set_incarnation(2);
  EXPECT_TRUE(Ask(*network_.MakeClient(), never).refusal().retry());
  EXPECT_TRUE(Ask(*client, hello).has_hello_reply());
  EXPECT_THAT(Ask(*network_.MakeClient(), never).refusal().reason(),
              testing::HasSubstr("that incarnation 2 of trainer 0 was let in"));
  never.mutable_hello()->set_trainer(7);
  EXPECT_TRUE(Ask(*network_.MakeClient(), never).refusal().retry());
}

// Its process is gone with it, most likely, and the one that asks is the next.
TEST_F(ServerSteps, GiveTheSeatOfWhoseConnectionHasEndedToTheNextSoon) {
  Load();
  auto client = network_.MakeClient();
  const uint64_t run = Ask(*client, Join()).join_reply().run();
  EXPECT_TRUE(Ask(*client, Hello(1, run)).has_hello_reply());
  client.reset();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(server_->Step(0).has_value());
  const auto next = network_.MakeClient();
  v1::Header join = Join();
  join.mutable_join()->set_nonce(6);
  clock_.Advance(cluster::Membership::kPartedMs);
  EXPECT_EQ(Ask(*next, join).refusal().wait_ms(), 1);
  clock_.Advance(1);
  EXPECT_EQ(Ask(*next, join).join_reply().incarnation(), 2u);
}

// Who has joined is told, and waited for until so much of the server's time has passed.
TEST_F(ServerSteps, GoByTheirOwnTime) {
  Load();
  const auto client = network_.MakeClient();
  const auto connection = client->Open(kSteppedAddress).value();
  ASSERT_TRUE(client->Send(connection, MakeParts(Join(), {})).ok());
  EXPECT_FALSE(server_->Step(0).has_value());
  server_->Stop();
  for (int i = 0; i < 100; ++i) ASSERT_FALSE(server_->Step(0).has_value());
  int64_t waited_ms = 0;
  std::optional<Status> outcome;
  for (; !outcome && waited_ms < 60'000; waited_ms += 500) {
    clock_.Advance(500);
    outcome = server_->Step(0);
  }
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->code(), StatusCode::kInterrupted);
  EXPECT_EQ(waited_ms, 2500);
}

}  // namespace
}  // namespace weir::server
