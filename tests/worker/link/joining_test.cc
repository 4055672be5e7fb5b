#include "worker/link/joining.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/session/loading.h"

namespace weir::worker {
namespace {

// Answers each request once the time of a wait has passed.
class PlayedCoordinator {
 public:
  virtual ~PlayedCoordinator() = default;
  virtual v1::Header Answer(int64_t now_ms) = 0;
};

// A coordinator that gives the seat away once another process has lost it.
class TakenSeat : public PlayedCoordinator {
 public:
  explicit TakenSeat(int64_t free_ms) : free_ms_(free_ms) {}

  // Its holder lives: what is left until it loses the seat does not become less.
  void HolderLives() { says_when_ = false; }
  static constexpr int64_t kHeldMs = 5000;
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

 private:
  const int64_t free_ms_;
  bool says_when_ = true;
};

// That is started anew, once or more, and counts the silence of the seat's holder from then on.
class RestartedCoordinator : public PlayedCoordinator {
 public:
  v1::Header Answer(int64_t now_ms) override {
    if (now_ms < 24'000) return TakenSeat(now_ms / 12'000 * 12'000 + 15'000).Answer(now_ms);
    return TakenSeat(24'000 + 15'000).Answer(now_ms);
  }
};

// A coordinator whose servers load some bytes between two requests, and then no more; in the end
// they serve, if they have loaded all.
class LoadingServers : public PlayedCoordinator {
 public:
  LoadingServers(uint64_t until, uint64_t total) : until_(until), total_(total) {}

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

 private:
  const uint64_t until_, total_;
  uint64_t done_ = 0;
};

// How it ends, and when.
struct Outcome {
  Result<v1::JoinReply> joined;
  int64_t at_ms = 0;
};

constexpr int64_t kWaitMs = 20;

Outcome JoinWithin(int64_t timeout_ms, PlayedCoordinator* coordinator) {
  Joining joining({.coordinator_name = "server 0", .timeout_ms = timeout_ms}, 0);
  for (int64_t now_ms = 0;;) {
    const auto request = joining.Tick(now_ms);
    if (!request.ok()) return {request.status(), now_ms};
    now_ms += kWaitMs;
    if (!request->has_value()) continue;
    EXPECT_TRUE((*request)->has_join());
    const auto joined = joining.OnMessage(coordinator->Answer(now_ms), now_ms);
    if (!joined.ok()) return {joined.status(), now_ms};
    if (joined->has_value()) return {**joined, now_ms};
  }
}

// Of a trainer that is started again at once, however short its own timeout is.
TEST(Joining, WaitsForTheSeatOfAProcessThatIsGone) {
  TakenSeat coordinator(15'000);
  const auto joined = JoinWithin(1500, &coordinator).joined;
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->incarnation(), 2u);
}

TEST(Joining, DoesNotWaitLongerForASeatWhoseHolderLives) {
  TakenSeat coordinator(1'000'000);
  coordinator.HolderLives();
  const Outcome outcome = JoinWithin(1500, &coordinator);
  EXPECT_EQ(outcome.joined.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_LE(outcome.at_ms, TakenSeat::kHeldMs + 3000);
}

TEST(Joining, WaitsForServersThatLoadAsLongAsTheyProgress) {
  LoadingServers coordinator(100, 100);
  const auto joined = JoinWithin(1500, &coordinator).joined;
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->incarnation(), 3u);
}

TEST(Joining, WaitsForASeatWhoseHolderIsSilentThoughTheCoordinatorIsStartedAnew) {
  RestartedCoordinator coordinator;
  const auto outcome = JoinWithin(20'000, &coordinator);
  ASSERT_TRUE(outcome.joined.ok()) << outcome.joined.status();
  EXPECT_GE(outcome.at_ms, 39'000);
}

TEST(Joining, GivesUpServersThatLoadNoMore) {
  LoadingServers coordinator(50, 100);
  const auto joined = JoinWithin(1500, &coordinator).joined;
  EXPECT_EQ(joined.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(joined.status().message(),
              testing::AllOf(testing::HasSubstr("server 2 is loading, so far"),
                             testing::HasSubstr("1500 ms (cluster.connect_timeout_ms)")));
}

TEST(Joining, AsksAgainUntilItsTimeout) {
  Joining joining({.coordinator_name = "server 0", .timeout_ms = 1000}, 5000);
  EXPECT_TRUE(joining.Tick(5000)->has_value());
  EXPECT_FALSE(joining.Tick(5299)->has_value());
  EXPECT_TRUE(joining.Tick(5300)->has_value());
  EXPECT_TRUE(joining.Tick(5999).ok());
  const Status late = joining.Tick(6000).status();
  EXPECT_EQ(late.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(late.message(), testing::HasSubstr("through server 0 within 1000 ms"));
}

TEST(Joining, AsksAsTheSameProcessEachTime) {
  Joining joining({.trainer = 3, .timeout_ms = 1000, .nonce = 77}, 0);
  for (const int64_t now_ms : {0, 300, 600}) {
    const auto request = joining.Tick(now_ms);
    ASSERT_TRUE(request.ok() && request->has_value());
    EXPECT_EQ((*request)->join().trainer(), 3u);
    EXPECT_EQ((*request)->join().nonce(), 77u);
  }
}

TEST(Joining, ARefusalForGoodEndsIt) {
  v1::Header header;
  header.mutable_refusal()->set_reason("the configs differ");
  const auto refused = [&] {
    return Joining({.coordinator_name = "server 0"}, 0).OnMessage(header, 1).status();
  };
  EXPECT_EQ(refused().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused().message(), "server 0 refuses: the configs differ");
  header.mutable_refusal()->set_finished_well(true);
  EXPECT_EQ(refused().code(), StatusCode::kTooLate);
}

TEST(Joining, HearsWhatTheRunHasBegunWith) {
  Joining joining({.coordinator_name = "server 0"}, 0);
  EXPECT_EQ(joining.begun_with(), std::nullopt);
  v1::Header header;
  header.mutable_refusal()->set_reason("another checkpoint");
  header.mutable_refusal()->set_warm_start(77);
  EXPECT_FALSE(joining.OnMessage(header, 1).ok());
  EXPECT_EQ(joining.begun_with(), std::optional<uint64_t>(77));
}

TEST(Joining, OtherMessagesSayNothing) {
  Joining joining({.coordinator_name = "server 0"}, 0);
  const auto said = joining.OnMessage({}, 1);
  ASSERT_TRUE(said.ok());
  EXPECT_FALSE(said->has_value());
}

}  // namespace
}  // namespace weir::worker
