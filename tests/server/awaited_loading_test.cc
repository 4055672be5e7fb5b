// A worker that waits for a server that loads, on one thread: time goes on when the loader has
// added something.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "common/base/clock.h"
#include "common/transport/loopback.h"
#include "server/server.h"
#include "tests/server/server_test_support.h"
#include "worker/link/server_link.h"

namespace weir::server {
namespace {

constexpr char kAwaitedAddress[] = "inproc://server";
constexpr int64_t kTimeoutMs = 1000, kStepMs = 20, kSteps = 2 * kTimeoutMs / kStepMs;

class AwaitedServer : public testing::Test {
 protected:
  AwaitedServer() {
    config_.mutable_cluster()->set_connect_timeout_ms(kTimeoutMs);
    auto transport = network_.MakeServer();
    CHECK(transport->Bind(kAwaitedAddress).ok());
    ServerOptions options{.addresses = {kAwaitedAddress}, .load_bytes = kSteps, .prompt_ms = 0};
    options.load = [this](Shard*, LoadProgress* progress) {
      while (added_ < kSteps && !progress->is_cancelled()) {
        if (added_ == wanted_) continue;
        progress->Add(1);
        ++added_;
      }
      return OkStatus();
    };
    server_ = std::make_unique<Server>(config_, 1, 0, std::move(transport), std::move(options));
  }
  void Step() {
    EXPECT_FALSE(server_->Step(0));  // the first begins to load
    if (added_ < kSteps) ++wanted_;
    while (added_ < wanted_) std::this_thread::yield();
    const bool waits_for_thread = added_ == kSteps && !server_->is_loaded();
    if (!waits_for_thread) clock_.Advance(added_ < kSteps ? kStepMs : 1);
  }

  v1::Config config_ = TinyConfig();
  const ModelLayout layout_{config_, 1};
  ManualClock clock_;  // the worker's
  transport::LoopbackNetwork network_;
  std::atomic<int64_t> wanted_{0}, added_{0};
  std::unique_ptr<Server> server_;
};

TEST_F(AwaitedServer, AWorkerWaitsLongerThanItsTimeoutWhileMoreIsLoaded) {
  worker::ServerLink link(config_, layout_,
                          {.environment = {.clock = clock_}, .server_addresses = {kAwaitedAddress}},
                          network_.MakeClient());
  while (!link.is_connected() && link.Step(1)) Step();
  EXPECT_TRUE(link.is_connected()) << link.failure();
  EXPECT_EQ(added_, kSteps);
}

}  // namespace
}  // namespace weir::server
