// Servers that load while others wait for them, over the loopback network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "common/base/clock.h"
#include "common/session/header_message.h"
#include "common/transport/loopback.h"
#include "server/server.h"
#include "tests/server/server_test_support.h"

namespace weir::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kReplyPatienceMs = 120000;  // for a machine under load; nothing waits so long
constexpr uint64_t kLoadBytes = 1000;
constexpr char kLoadingAddress[] = "inproc://server";

class LoadingServer : public testing::Test {
 protected:
  using Load = std::function<Status(Shard*, LoadProgress*)>;

  void Make(Load load, uint32_t server_count = 1, uint32_t shard_index = 0) {
    auto transport = network_.MakeServer();
    CHECK(transport->Bind(kLoadingAddress).ok());
    ServerOptions options;
    options.addresses.assign(server_count, kLoadingAddress);
    options.load = std::move(load);
    options.load_bytes = kLoadBytes;
    options.prompt_ms = 0;
    server_ = std::make_unique<Server>(config_, server_count, shard_index, std::move(transport),
                                       std::move(options));
  }
  void Start(Load load, uint32_t server_count = 1, uint32_t shard_index = 0) {
    Make(std::move(load), server_count, shard_index);
    thread_ = std::thread([this] { outcome_ = server_->Run(); });
    connection_ = client_->Open(kLoadingAddress).value();
  }
  // Loading that waits for the test, and then returns the status.
  Load LoadHeldBack(Status status = OkStatus()) {
    return [this, status = std::move(status)](Shard*, LoadProgress* progress) {
      progress->Add(kLoadBytes / 2);
      while (!go_on_.try_wait() && !progress->is_cancelled()) std::this_thread::yield();
      return status;
    };
  }
  void TearDown() override {
    if (!thread_.joinable()) return;
    server_->Stop();
    thread_.join();
  }

  v1::Header Exchange(const v1::Header& header) {
    EXPECT_TRUE(client_->Send(connection_, MakeParts(header, {})).ok());
    const auto incoming = client_->Receive(kReplyPatienceMs);
    CHECK(incoming) << "no reply";
    return session::ParseHeader(incoming->message).value();
  }
  v1::Header Join() const {
    v1::Header header;
    *header.mutable_join()->mutable_identity() = server_->identity();
    header.mutable_join()->set_nonce(5);
    return header;
  }
  v1::Header Hello() const {
    v1::Header header;
    *header.mutable_hello()->mutable_identity() = server_->identity();
    header.mutable_hello()->set_incarnation(1);
    header.mutable_hello()->set_connection(1);
    header.mutable_hello()->set_run(7);
    return header;
  }
  // The refusal that tells of what the loader has added; earlier ones may come before.
  v1::Refusal AwaitHalf(const v1::Header& header) {
    v1::Refusal refusal;
    do {
      refusal = Exchange(header).refusal();
      EXPECT_TRUE(refusal.retry());
    } while (refusal.has_loading() && refusal.loading().done_bytes() < kLoadBytes / 2);
    return refusal;
  }
  // The first reply that is another.
  v1::Header AwaitEnd(const v1::Header& header) {
    v1::Header reply;
    do {
      reply = Exchange(header);
    } while (reply.refusal().has_loading());
    return reply;
  }

  const v1::Config config_ = TinyConfig();
  const ModelLayout layout_{config_, 1};
  ManualClock clock_;  // of a worker
  transport::LoopbackNetwork network_;
  std::unique_ptr<transport::ClientTransport> client_ = network_.MakeClient();
  transport::ConnectionId connection_ = 0;
  std::latch go_on_{1};
  std::unique_ptr<Server> server_;
  std::thread thread_;
  Status outcome_;
};

TEST_F(LoadingServer, TellsWhoWantsToJoinHowFarItIsAndThenAdmitsIt) {
  Start(LoadHeldBack());
  const v1::Refusal refusal = AwaitHalf(Join());
  EXPECT_THAT(refusal.reason(),
              AllOf(HasSubstr("server 0 at inproc://server is loading, "), HasSubstr(" %")));
  EXPECT_EQ(refusal.loading().total_bytes(), kLoadBytes);
  EXPECT_TRUE(server_->loading());
  EXPECT_FALSE(server_->is_loaded());
  go_on_.count_down();
  const v1::Header reply = AwaitEnd(Join());
  EXPECT_TRUE(reply.has_join_reply()) << reply.DebugString();
  EXPECT_TRUE(server_->is_loaded());
  EXPECT_FALSE(server_->loading());
}

TEST_F(LoadingServer, AnotherShardTellsWhoSaysHello) {
  Start(LoadHeldBack(), 2, 1);
  server_->Serve(7);
  Grant(Hello().hello(), &server_->news().grants);
  EXPECT_THAT(AwaitHalf(Hello()).reason(), HasSubstr("it is loading, "));
  v1::Header stranger = Hello();
  stranger.mutable_hello()->mutable_identity()->set_server_count(3);
  stranger.mutable_hello()->mutable_identity()->clear_checksum();
  EXPECT_FALSE(Exchange(stranger).refusal().retry()) << "it hears at once what differs";
  v1::Header old = Hello();
  old.mutable_hello()->set_server_epoch(12345);
  EXPECT_NE(Exchange(old).hello_reply().server_epoch(), 12345u) << "nor does it wait in vain";
  v1::Header pull;
  pull.mutable_row_pull()->set_request_id(1);
  EXPECT_TRUE(Exchange(pull).refusal().retry());
  go_on_.count_down();
  const v1::Header reply = AwaitEnd(Hello());
  EXPECT_TRUE(reply.has_hello_reply()) << reply.DebugString();
}

TEST_F(LoadingServer, ThatFailsTellsWhoWaitsWhyAndEndsWithIt) {
  Start(LoadHeldBack(InvalidData("parameters.weir is damaged")));
  AwaitHalf(Join());
  go_on_.count_down();
  const v1::Refusal refusal = AwaitEnd(Join()).refusal();
  EXPECT_FALSE(refusal.retry());
  EXPECT_EQ(refusal.reason(),
            "the run has failed: server 0 at inproc://server has ended: parameters.weir is "
            "damaged");
  thread_.join();
  EXPECT_EQ(outcome_.code(), StatusCode::kInvalidData);
  EXPECT_EQ(outcome_.message(), "parameters.weir is damaged");
}

TEST_F(LoadingServer, OfAnotherShardThatFailsTheRunEndsWithTheReason) {
  Start(LoadHeldBack(InvalidData("parameters.weir is damaged")), 2, 1);
  go_on_.count_down();
  thread_.join();
  EXPECT_EQ(outcome_.message(), "parameters.weir is damaged");
}

TEST_F(LoadingServer, WithoutMemoryItEndsAndSaysSo) {
  Start([](Shard*, LoadProgress*) -> Status { throw std::bad_alloc(); });
  thread_.join();
  EXPECT_EQ(outcome_.code(), StatusCode::kResourceExhausted);
}

TEST_F(LoadingServer, ASignalEndsIt) {
  Start(LoadHeldBack());
  AwaitHalf(Join());
  server_->Stop();
  const v1::Refusal refusal = AwaitEnd(Join()).refusal();
  EXPECT_THAT(refusal.reason(), HasSubstr("server 0 was stopped")) << "who waits hears of it";
  thread_.join();
  EXPECT_EQ(outcome_.code(), StatusCode::kInterrupted);
  EXPECT_FALSE(server_->is_loaded());
  server_.reset();  // the loader is told, too, and ends
}

// One thread steps both, and the loader adds something whenever time goes on.

}  // namespace
}  // namespace weir::server
