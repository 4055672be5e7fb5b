// A server without a thread of its own: its steps are the test's, and so are its time and names.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "common/transport/loopback.h"
#include "server/server.h"
#include "tests/server/server_test_support.h"

namespace weir::server {
namespace {

constexpr char kSteppedAddress[] = "inproc://stepped";

class ServerSteps : public testing::Test {
 protected:
  ServerSteps() {
    auto transport = network_.MakeServer();
    CHECK(transport->Bind(kSteppedAddress).ok());
    server_ = std::make_unique<Server>(
        TinyConfig(), 1, 0, std::move(transport),
        ServerOptions{.environment = {.clock = clock_, .nonce = [this] { return ++names_; }},
                      .prompt_ms = 120'000});
    while (!server_->is_loaded()) EXPECT_FALSE(server_->Step(0).has_value());
  }

  v1::Header Join() const {
    v1::Header header;
    *header.mutable_join()->mutable_identity() = server_->identity();
    header.mutable_join()->set_nonce(5);
    return header;
  }

  transport::LoopbackNetwork network_;
  ManualClock clock_;
  uint64_t names_ = 100;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerSteps, AnswerWhatHasCome) {
  const auto client = network_.MakeClient();
  const auto connection = client->Open(kSteppedAddress).value();
  ASSERT_TRUE(client->Send(connection, MakeParts(Join(), {})).ok());
  EXPECT_FALSE(client->Receive(0).has_value());
  EXPECT_FALSE(server_->Step(0).has_value());
  const auto incoming = client->Receive(0);
  ASSERT_TRUE(incoming.has_value());
  v1::Header reply;
  const ByteSpan bytes = incoming->message.parts[0].span();
  ASSERT_TRUE(reply.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  EXPECT_GT(reply.join_reply().run(), 100u) << "a name of this environment";
  EXPECT_LE(reply.join_reply().run(), names_);
}

// Who has joined is told, and waited for until so much of the server's time has passed.
TEST_F(ServerSteps, GoByTheirOwnTime) {
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
