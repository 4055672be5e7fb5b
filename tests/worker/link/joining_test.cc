#include "worker/link/joining.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "common/session/header_message.h"

namespace weir::worker {
namespace {

// A coordinator that answers the request that comes after the pause.
class PausedTransport : public transport::ClientTransport {
 public:
  PausedTransport(ManualClock* clock, int64_t pause_ms) : clock_(clock), pause_ms_(pause_ms) {}

  Result<transport::ConnectionId> Open(const std::string& /*address*/) override { return 1u; }
  void Close(transport::ConnectionId /*connection*/) override {}
  Status Send(transport::ConnectionId /*connection*/, transport::Message /*message*/) override {
    ++sent_;
    return OkStatus();
  }
  std::optional<transport::ConnectionMessage> Receive(int64_t timeout_ms) override {
    clock_->Advance(std::exchange(pause_ms_, timeout_ms));
    if (sent_ < 2) return std::nullopt;
    v1::Header header;
    header.mutable_join_reply()->set_incarnation(7);
    return transport::ConnectionMessage{.connection = 1, .message = session::MakeMessage(header)};
  }
  void Wake() override {}

 private:
  ManualClock* const clock_;
  int64_t pause_ms_;
  int sent_ = 0;
};

Result<v1::JoinReply> JoinAfterPause(int64_t pause_ms, int64_t timeout_ms) {
  ManualClock clock;
  PausedTransport transport(&clock, pause_ms);
  WireMeter meter;
  return JoinRun(
      {.coordinator_name = "server 0", .identity = {}, .timeout_ms = timeout_ms, .clock = clock}, 1,
      &transport, &meter, [] { return OkStatus(); });
}

// A container that is stopped while its worker joins: nobody was silent.
TEST(Joining, APauseOfThisProcessIsNoSilenceOfThePeer) {
  const auto joined = JoinAfterPause(1'000'000, 30'000);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->incarnation(), 7u);
}

TEST(Joining, EndsAtItsTimeout) {
  const auto joined = JoinAfterPause(100, 150);
  EXPECT_EQ(joined.status().code(), StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace weir::worker
