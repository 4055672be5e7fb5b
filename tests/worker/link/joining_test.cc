#include "worker/link/joining.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "common/session/header_message.h"
#include "tests/common/session/loading.h"

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

// A coordinator that answers each request once the time of a wait has passed.
class AnsweringTransport : public transport::ClientTransport {
 public:
  explicit AnsweringTransport(ManualClock* clock) : clock_(clock) {}

  Result<transport::ConnectionId> Open(const std::string& /*address*/) override { return 1u; }
  void Close(transport::ConnectionId /*connection*/) override {}
  Status Send(transport::ConnectionId /*connection*/, transport::Message /*message*/) override {
    asked_ = true;
    return OkStatus();
  }
  std::optional<transport::ConnectionMessage> Receive(int64_t timeout_ms) override {
    clock_->Advance(timeout_ms);
    if (!std::exchange(asked_, false)) return std::nullopt;
    return transport::ConnectionMessage{.connection = 1,
                                        .message = session::MakeMessage(Answer(clock_->NowMs()))};
  }
  void Wake() override {}

 protected:
  virtual v1::Header Answer(int64_t now_ms) = 0;

 private:
  ManualClock* const clock_;
  bool asked_ = false;
};

// A coordinator that gives the seat away once another process has lost it.
class TakenSeat : public AnsweringTransport {
 public:
  TakenSeat(ManualClock* clock, int64_t free_ms) : AnsweringTransport(clock), free_ms_(free_ms) {}

  // Its holder lives: what is left until it loses the seat does not become less.
  void HolderLives() { says_when_ = false; }
  static constexpr int64_t kHeldMs = 5000;

 private:
  v1::Header Answer(int64_t now_ms) override {
    v1::Header header;
    const int64_t wait_ms = free_ms_ - now_ms;
    if (wait_ms > 0) {
      header.mutable_refusal()->set_reason("taken");
      header.mutable_refusal()->set_retry(true);
      header.mutable_refusal()->set_wait_ms(says_when_ ? wait_ms : kHeldMs);
    } else {
      header.mutable_join_reply()->set_incarnation(2);
    }
    return header;
  }

  const int64_t free_ms_;
  bool says_when_ = true;
};

// A coordinator whose servers load some bytes between two requests, and then no more; in the end
// they serve, if they have loaded all.
class LoadingServers : public AnsweringTransport {
 public:
  LoadingServers(ManualClock* clock, uint64_t until, uint64_t total)
      : AnsweringTransport(clock), until_(until), total_(total) {}

 private:
  v1::Header Answer(int64_t /*now_ms*/) override {
    v1::Header header;
    if (done_ >= total_) {
      header.mutable_join_reply()->set_incarnation(3);
      return header;
    }
    v1::Refusal& refusal = *header.mutable_refusal();
    refusal.set_reason("server 2 is loading, so far");
    refusal.set_retry(true);
    *refusal.mutable_loading() = session::LoadingOf(done_, total_);
    if (done_ < until_) ++done_;
    return header;
  }

  const uint64_t until_, total_;
  uint64_t done_ = 0;
};

Result<v1::JoinReply> JoinWithin(int64_t timeout_ms, const Clock& clock,
                                 transport::ClientTransport* transport) {
  WireMeter meter;
  return JoinRun(
      {.coordinator_name = "server 0", .timeout_ms = timeout_ms, .environment = {.clock = clock}},
      1, transport, &meter, [] { return OkStatus(); });
}

Result<v1::JoinReply> JoinAfterPause(int64_t pause_ms, int64_t timeout_ms) {
  ManualClock clock;
  PausedTransport transport(&clock, pause_ms);
  return JoinWithin(timeout_ms, clock, &transport);
}

// A container that is stopped while its worker joins: nobody was silent.
TEST(Joining, APauseOfThisProcessIsNoSilenceOfThePeer) {
  const auto joined = JoinAfterPause(1'000'000, 30'000);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->incarnation(), 7u);
}

// Of a trainer that is started again at once, however short its own timeout is.
TEST(Joining, WaitsForTheSeatOfAProcessThatIsGone) {
  ManualClock clock;
  TakenSeat transport(&clock, clock.NowMs() + 15'000);
  const auto joined = JoinWithin(1500, clock, &transport);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->incarnation(), 2u);
}

TEST(Joining, DoesNotWaitLongerForASeatWhoseHolderLives) {
  ManualClock clock;
  const int64_t start_ms = clock.NowMs();
  TakenSeat transport(&clock, start_ms + 1'000'000);
  transport.HolderLives();
  const auto joined = JoinWithin(1500, clock, &transport);
  EXPECT_EQ(joined.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_LE(clock.NowMs() - start_ms, TakenSeat::kHeldMs + 3000);
}

TEST(Joining, WaitsForServersThatLoadAsLongAsTheyProgress) {
  ManualClock clock;
  LoadingServers transport(&clock, 100, 100);
  const auto joined = JoinWithin(1500, clock, &transport);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->incarnation(), 3u);
}

TEST(Joining, GivesUpServersThatLoadNoMore) {
  ManualClock clock;
  LoadingServers transport(&clock, 50, 100);
  const auto joined = JoinWithin(1500, clock, &transport);
  EXPECT_EQ(joined.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(joined.status().message(),
              testing::AllOf(testing::HasSubstr("server 2 is loading, so far"),
                             testing::HasSubstr("1500 ms (cluster.connect_timeout_ms)")));
}

TEST(Joining, EndsAtItsTimeout) {
  const auto joined = JoinAfterPause(100, 150);
  EXPECT_EQ(joined.status().code(), StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace weir::worker
