// A shard's reporter against a coordinator that is played by hand, over the loopback network: on a
// thread of its own, and by steps in a time that stands still until it is moved.
#include "server/shard_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "common/session/header_message.h"
#include "common/transport/loopback.h"
#include "tests/support/no_memory_client.h"

namespace weir::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kCoordinatorAddress[] = "inproc://coordinator";
constexpr int64_t kEndPatienceMs = 120000;  // for a machine under load

class ShardReporterTest : public testing::Test {
 protected:
  ShardReporterTest() { CHECK(coordinator_->Bind(kCoordinatorAddress).ok()); }

  std::unique_ptr<ShardReporter> Start(int64_t timeout_ms, int64_t reconnect_ms = kEndPatienceMs,
                                       CoordinatorNews* news = nullptr) {
    ShardReporterOptions options;
    options.coordinator_address = kCoordinatorAddress;
    options.identity.set_model(42);
    options.shard_index = 2;
    options.first_timeout_ms = options.timeout_ms = timeout_ms;
    options.taken_timeout_ms = 50;
    options.interval_ms = interval_ms_;
    options.reconnect_ms = reconnect_ms;
    options.news = news;
    auto reporter = std::make_unique<ShardReporter>(
        options, network_.MakeClient(), [this](uint64_t run) { told_.push_back(run); },
        [this](Status status) { end_.set_value(std::move(status)); });
    reporter->Start();
    return reporter;
  }
  static v1::ShardReport ReportOf(const std::optional<transport::IncomingMessage>& incoming) {
    CHECK(incoming) << "no report";
    return session::ParseHeader(incoming->message).value().shard_report();
  }
  v1::ShardReport AnswerOne(v1::ShardReply::State state, const std::string& reason = "") {
    const auto incoming = coordinator_->Receive(kEndPatienceMs);
    v1::ShardReport report = ReportOf(incoming);
    v1::Header reply;
    reply.mutable_shard_reply()->set_state(state);
    reply.mutable_shard_reply()->set_reason(reason);
    reply.mutable_shard_reply()->set_run(run_);
    reply.mutable_shard_reply()->set_save(is_to_save_);
    reply.mutable_shard_reply()->mutable_grants()->Assign(grants_.begin(), grants_.end());
    CHECK(coordinator_->Send(incoming->peer, session::MakeMessage(reply)).ok());
    return report;
  }
  void AnswerWithRefusal(const std::string& reason, bool retry) {
    const auto incoming = coordinator_->Receive(kEndPatienceMs);
    ASSERT_TRUE(incoming);
    v1::Header reply;
    reply.mutable_refusal()->set_reason(reason);
    reply.mutable_refusal()->set_retry(retry);
    ASSERT_TRUE(coordinator_->Send(incoming->peer, session::MakeMessage(reply)).ok());
  }
  Status End() {
    auto end = end_.get_future();
    CHECK(end.wait_for(std::chrono::milliseconds(kEndPatienceMs)) == std::future_status::ready);
    return end.get();
  }

  transport::LoopbackNetwork network_;
  std::unique_ptr<transport::ServerTransport> coordinator_ = network_.MakeServer();
  std::promise<Status> end_;
  std::vector<uint64_t> told_;  // to be read after End
  uint64_t run_ = 5;
  bool is_to_save_ = false;
  std::vector<v1::Grant> grants_;
  int64_t interval_ms_ = 20;
};

// Who says hello behind the last report need not wait for the next.
TEST_F(ShardReporterTest, AsksAtOnceForAProcessThatItHasNotHeardOf) {
  interval_ms_ = kEndPatienceMs;
  CoordinatorNews news;
  const auto reporter = Start(kEndPatienceMs, kEndPatienceMs, &news);
  AnswerOne(v1::ShardReply::RUNNING);
  EXPECT_FALSE(news.grants.Has({3, 1}, 2));
  v1::Grant& grant = grants_.emplace_back();
  grant.set_trainer(3);
  grant.set_stage(1);
  grant.set_incarnation(2);
  AnswerOne(v1::ShardReply::FINISHED);
  EXPECT_TRUE(End().ok());
  EXPECT_TRUE(news.grants.Has({3, 1}, 2));
  EXPECT_FALSE(news.grants.Has({3, 1}, 1)) << "another was let in since";
  EXPECT_FALSE(news.grants.Has({3, 0}, 2));
}

TEST_F(ShardReporterTest, EndsWhenItRunsOutOfMemory) {
  auto client = std::make_unique<test::NoMemoryClient>(network_.MakeClient());
  client->RunOut();
  ShardReporterOptions options;
  options.coordinator_address = kCoordinatorAddress;
  options.first_timeout_ms = options.timeout_ms = options.reconnect_ms = kEndPatienceMs;
  options.interval_ms = 20;
  ShardReporter reporter(
      options, std::move(client), [](uint64_t) {},
      [this](Status status) { end_.set_value(std::move(status)); });
  reporter.Start();
  EXPECT_EQ(End().code(), StatusCode::kResourceExhausted);
}

TEST_F(ShardReporterTest, ReportsAsOneProcessUntilTheRunIsFinished) {
  const auto reporter = Start(kEndPatienceMs);
  const v1::ShardReport first = AnswerOne(v1::ShardReply::RUNNING);
  EXPECT_EQ(first.shard(), 2u);
  EXPECT_EQ(first.identity().model(), 42u);
  EXPECT_NE(first.nonce(), 0u);
  EXPECT_EQ(AnswerOne(v1::ShardReply::RUNNING).nonce(), first.nonce());
  AnswerOne(v1::ShardReply::FINISHED);
  EXPECT_TRUE(End().ok());
  const v1::ShardReport last = ReportOf(coordinator_->Receive(kEndPatienceMs));
  EXPECT_TRUE(last.farewell());
  EXPECT_EQ(last.nonce(), first.nonce());
}

TEST_F(ShardReporterTest, EachReportHasAllThatWasScaledDown) {
  BoundBook book;
  ShardReporterOptions options;
  options.coordinator_address = kCoordinatorAddress;
  options.first_timeout_ms = options.timeout_ms = options.reconnect_ms = kEndPatienceMs;
  options.interval_ms = 20;
  options.bounded = &book;
  ShardReporter reporter(
      options, network_.MakeClient(), [](uint64_t) {}, [](const Status&) {});
  reporter.Start();
  EXPECT_TRUE(AnswerOne(v1::ShardReply::RUNNING).bounded().empty());
  book.Add(4, {.pieces = 1, .rows = 2});
  v1::ShardReport report = AnswerOne(v1::ShardReply::RUNNING);
  while (report.bounded().empty()) report = AnswerOne(v1::ShardReply::RUNNING);
  EXPECT_EQ(report.bounded(0).trainer(), 4u);
  EXPECT_EQ(report.bounded(0).pushes(), 1u);
  EXPECT_EQ(AnswerOne(v1::ShardReply::RUNNING).bounded_size(), 1) << "again";
}

TEST_F(ShardReporterTest, ASilentConnectionIsOpenedAnew) {
  const auto reporter = Start(kEndPatienceMs, 100);
  const auto first = coordinator_->Receive(kEndPatienceMs);
  ASSERT_TRUE(first);
  std::optional<transport::IncomingMessage> next;
  do {
    next = coordinator_->Receive(kEndPatienceMs);
    ASSERT_TRUE(next);
  } while (next->peer == first->peer);
  EXPECT_EQ(ReportOf(next).nonce(), ReportOf(first).nonce());
}

TEST_F(ShardReporterTest, ARestartedCoordinatorEndsTheShardToo) {
  const auto reporter = Start(kEndPatienceMs);
  run_ = 7;
  AnswerOne(v1::ShardReply::RUNNING);
  AnswerOne(v1::ShardReply::RUNNING);
  run_ = 8;
  AnswerOne(v1::ShardReply::RUNNING);
  EXPECT_THAT(End().message(), AllOf(HasSubstr(kCoordinatorAddress), HasSubstr("was restarted")));
  EXPECT_THAT(told_, testing::ElementsAre(7));
}

// As when the servers of the next run are started while those of the last one are leaving.
TEST_F(ShardReporterTest, TheRunOfACoordinatorThatHasAnotherShardIsNotItsOwn) {
  const auto reporter = Start(kEndPatienceMs);
  run_ = 5;
  AnswerOne(v1::ShardReply::TAKEN);
  run_ = 6;
  AnswerOne(v1::ShardReply::RUNNING);
  AnswerOne(v1::ShardReply::FINISHED);
  EXPECT_TRUE(End().ok());
  EXPECT_THAT(told_, testing::ElementsAre(6));
}

TEST_F(ShardReporterTest, AFailedRunIsAStatusWithTheReason) {
  const auto reporter = Start(kEndPatienceMs);
  AnswerOne(v1::ShardReply::FAILED, "trainer 0: the disk is full");
  EXPECT_THAT(End().message(), HasSubstr("the run has failed: trainer 0: the disk is full"));
}

TEST_F(ShardReporterTest, ARefusalNamesTheCoordinator) {
  const auto reporter = Start(kEndPatienceMs);
  AnswerOne(v1::ShardReply::REFUSED, "the configs differ");
  EXPECT_THAT(End().message(),
              AllOf(HasSubstr(kCoordinatorAddress), HasSubstr("the configs differ")));
}

TEST_F(ShardReporterTest, AServerThatIsNotTheCoordinatorIsNamed) {
  const auto reporter = Start(kEndPatienceMs);
  AnswerWithRefusal("this server is not shard 0, the coordinator", false);
  EXPECT_EQ(
      End().message(),
      "server 0 at inproc://coordinator refuses: this server is not shard 0, the coordinator");
}

TEST_F(ShardReporterTest, ARefusalForNowIsNotTheEnd) {
  const auto reporter = Start(kEndPatienceMs);
  AnswerWithRefusal("ask again", true);
  AnswerOne(v1::ShardReply::FINISHED);
  EXPECT_TRUE(End().ok());
}

TEST_F(ShardReporterTest, AShardThatStaysTakenIsGivenUp) {
  const auto reporter = Start(kEndPatienceMs);
  auto end = end_.get_future();
  while (end.wait_for(std::chrono::milliseconds(0)) != std::future_status::ready) {
    const auto incoming = coordinator_->Receive(20);
    if (!incoming) continue;
    v1::Header reply;
    reply.mutable_shard_reply()->set_state(v1::ShardReply::TAKEN);
    reply.mutable_shard_reply()->set_reason("shard 2 is already served");
    ASSERT_TRUE(coordinator_->Send(incoming->peer, session::MakeMessage(reply)).ok());
  }
  EXPECT_THAT(end.get().message(), HasSubstr("shard 2 is already served"));
}

TEST_F(ShardReporterTest, ASilentCoordinatorIsNamed) {
  const auto reporter = Start(60);
  const Status status = End();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("server 0"), HasSubstr(kCoordinatorAddress)));
}

TEST_F(ShardReporterTest, NoiseFromTheCoordinatorIsIgnored) {
  const auto reporter = Start(kEndPatienceMs);
  const auto incoming = coordinator_->Receive(kEndPatienceMs);
  ASSERT_TRUE(incoming);
  ASSERT_TRUE(coordinator_->Send(incoming->peer, {{transport::Part(Bytes{0xff, 0xff, 1})}}).ok());
  ASSERT_TRUE(coordinator_->Send(incoming->peer, session::MakeMessage({})).ok());
  AnswerOne(v1::ShardReply::FINISHED);
  EXPECT_TRUE(End().ok());
}

TEST_F(ShardReporterTest, TellsHowFarTheShardIsWhileItLoads) {
  std::atomic<bool> loads = true;
  ShardReporterOptions options;
  options.coordinator_address = kCoordinatorAddress;
  options.interval_ms = 20;
  options.loading = [&] {
    v1::Loading loading;
    loading.set_done_bytes(7);
    return loads ? std::optional(loading) : std::nullopt;
  };
  ShardReporter reporter(
      options, network_.MakeClient(), [](uint64_t) {},
      [this](Status status) { end_.set_value(std::move(status)); });
  reporter.Start();
  EXPECT_EQ(AnswerOne(v1::ShardReply::RUNNING).loading().done_bytes(), 7u);
  loads = false;
  while (AnswerOne(v1::ShardReply::RUNNING).has_loading()) continue;
  AnswerOne(v1::ShardReply::FINISHED);
  EXPECT_TRUE(End().ok());
}

TEST_F(ShardReporterTest, TheShardIsToldOnceToSaveAndTellsHowFarItIs) {
  std::atomic<int> asked = 0;
  ShardReporterOptions options;
  options.coordinator_address = kCoordinatorAddress;
  options.interval_ms = 20;
  options.saves = true;
  options.on_save = [&] { ++asked; };
  options.part = [&] {
    v1::PartReport part;
    part.set_written_bytes(7);
    return asked > 0 ? std::optional(part) : std::nullopt;
  };
  ShardReporter reporter(
      options, network_.MakeClient(), [](uint64_t) {},
      [this](Status status) { end_.set_value(std::move(status)); });
  reporter.Start();
  EXPECT_TRUE(AnswerOne(v1::ShardReply::RUNNING).saves());
  is_to_save_ = true;
  EXPECT_FALSE(AnswerOne(v1::ShardReply::RUNNING).has_part());
  while (AnswerOne(v1::ShardReply::RUNNING).part().written_bytes() != 7) continue;
  AnswerOne(v1::ShardReply::FINISHED);
  EXPECT_TRUE(End().ok());
  EXPECT_EQ(asked, 1);
}

TEST_F(ShardReporterTest, TellsHowTheShardEnds) {
  const auto reporter = Start(kEndPatienceMs);
  const v1::ShardReport first = AnswerOne(v1::ShardReply::RUNNING);
  reporter->SayFailure(ResourceExhausted("no memory"));
  reporter->SayFailure(Interrupted("stopped"));  // the first explains the others
  v1::ShardReport last;
  while (const auto incoming = coordinator_->Receive(20)) last = ReportOf(incoming);
  EXPECT_EQ(last.failure(), "has ended: no memory");
  EXPECT_EQ(last.nonce(), first.nonce());
}

TEST_F(ShardReporterTest, ASignalIsToldAsOne) {
  const auto reporter = Start(kEndPatienceMs);
  reporter->SayFailure(Interrupted("stopped"));
  v1::ShardReport last;
  while (const auto incoming = coordinator_->Receive(20)) last = ReportOf(incoming);
  EXPECT_EQ(last.failure(), "was stopped");
}

TEST_F(ShardReporterTest, AFinishedRunHasNoFailure) {
  const auto reporter = Start(kEndPatienceMs);
  AnswerOne(v1::ShardReply::FINISHED);
  EXPECT_TRUE(End().ok());
  reporter->SayFailure(Interrupted("stopped"));
  while (const auto incoming = coordinator_->Receive(20)) {
    EXPECT_EQ(ReportOf(incoming).failure(), "");
  }
}

TEST_F(ShardReporterTest, DestructionEndsItWithoutAWord) {
  bool told = false;
  {
    ShardReporterOptions options;
    options.coordinator_address = kCoordinatorAddress;
    ShardReporter reporter(
        options, network_.MakeClient(), [](uint64_t) {}, [&](const Status&) { told = true; });
    reporter.Start();
  }
  EXPECT_FALSE(told);
}

class ShardReporterSteps : public testing::Test {
 protected:
  ShardReporterSteps() {
    CHECK(coordinator_->Bind(kCoordinatorAddress).ok());
    reporter_ = std::make_unique<ShardReporter>(
        ShardReporterOptions{.environment = {.clock = clock_, .nonce = [] { return 77; }},
                             .coordinator_address = kCoordinatorAddress,
                             .identity = {}},
        network_.MakeClient(), [this](uint64_t run) { runs_.push_back(run); },
        [this](Status status) { ends_.push_back(std::move(status)); });
  }

  bool Step() { return reporter_->Step(0); }
  void Answer(v1::ShardReply::State state) {
    v1::Header reply;
    reply.mutable_shard_reply()->set_state(state);
    reply.mutable_shard_reply()->set_run(5);
    CHECK(coordinator_->Send(peer_, session::MakeMessage(reply)).ok());
  }
  // What has come of the shard; nothing where that is nothing.
  std::optional<v1::ShardReport> Heard() {
    const auto incoming = coordinator_->Receive(0);
    if (!incoming) return std::nullopt;
    peer_ = incoming->peer;
    return session::ParseHeader(incoming->message).value().shard_report();
  }

  ManualClock clock_;
  transport::LoopbackNetwork network_;
  std::unique_ptr<transport::ServerTransport> coordinator_ = network_.MakeServer();
  transport::PeerId peer_;
  std::vector<uint64_t> runs_;
  std::vector<Status> ends_;
  std::unique_ptr<ShardReporter> reporter_;
};

TEST_F(ShardReporterSteps, ReportOnceASecondUntilTheRunIsFinished) {
  EXPECT_FALSE(Heard()) << "the first step opens the connection";
  EXPECT_TRUE(Step());
  EXPECT_EQ(Heard()->nonce(), 77u);
  EXPECT_TRUE(runs_.empty());
  Answer(v1::ShardReply::RUNNING);
  EXPECT_TRUE(Step());
  EXPECT_EQ(runs_, std::vector<uint64_t>{5});
  clock_.Advance(999);
  EXPECT_TRUE(Step());
  EXPECT_FALSE(Heard());
  clock_.Advance(1);
  EXPECT_TRUE(Step());
  EXPECT_FALSE(Heard()->farewell());
  Answer(v1::ShardReply::FINISHED);
  EXPECT_FALSE(Step());
  ASSERT_EQ(ends_.size(), 1u);
  EXPECT_TRUE(ends_[0].ok());
  EXPECT_TRUE(Heard()->farewell());
  EXPECT_FALSE(Step()) << "no more is to come";
  EXPECT_EQ(ends_.size(), 1u);
  reporter_->SayFailure(Interrupted("stopped"));
  EXPECT_FALSE(Heard()) << "the run is over, and how is said";
}

// A server 0 that is started again takes no reports before it has its parameters.
TEST_F(ShardReporterSteps, WhoIsNotAnsweredReportsAgainSoon) {
  EXPECT_TRUE(Step());
  EXPECT_TRUE(Heard());
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(199);
    EXPECT_TRUE(Step());
    EXPECT_FALSE(Heard());
    clock_.Advance(1);
    EXPECT_TRUE(Step());
    EXPECT_TRUE(Heard());
  }
}

TEST_F(ShardReporterSteps, ASilentCoordinatorIsGivenUpInTheirTime) {
  int64_t waited_ms = 0;
  for (; Step(); waited_ms += 500) clock_.Advance(500);
  EXPECT_EQ(waited_ms, 30'500);
  ASSERT_EQ(ends_.size(), 1u);
  EXPECT_EQ(ends_[0].code(), StatusCode::kDeadlineExceeded);
}

TEST_F(ShardReporterSteps, WhoIsStoppedBetweenThemSaysWhyAndTakesNoMore) {
  EXPECT_TRUE(Step());
  EXPECT_EQ(Heard()->failure(), "");
  reporter_->SayFailure(ResourceExhausted("no memory"));
  EXPECT_EQ(Heard()->failure(), "has ended: no memory");
  EXPECT_FALSE(Step());
  EXPECT_TRUE(ends_.empty());
}

TEST_F(ShardReporterSteps, WhoIsStoppedBeforeTheFirstSaysWhyToo) {
  reporter_->SayFailure(Interrupted("stopped"));
  EXPECT_EQ(Heard()->failure(), "was stopped");
}

}  // namespace
}  // namespace weir::server
