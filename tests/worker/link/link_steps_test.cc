// A link without a thread, against a coordinator that is played by hand: its steps are the test's,
// and so is its time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

#include "common/session/header_message.h"
#include "common/transport/loopback.h"
#include "tests/worker/link/small_model.h"
#include "worker/link/server_link.h"

namespace weir::worker {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kSteppedServer[] = "inproc://server";

class LinkStep : public testing::Test {
 protected:
  LinkStep() { CHECK(coordinator_->Bind(kSteppedServer).ok()); }

  std::optional<v1::Header> Heard() {
    const auto incoming = coordinator_->Receive(0);
    if (!incoming) return std::nullopt;
    peer_ = incoming->peer;
    return session::ParseHeader(incoming->message).value();
  }
  void Say(const v1::Header& header) {
    CHECK(coordinator_->Send(peer_, session::MakeMessage(header)).ok());
  }
  void LetJoin(bool wants_learned = false) {
    v1::Header reply;
    reply.mutable_join_reply()->set_incarnation(3);
    reply.mutable_join_reply()->set_wants_learned(wants_learned);
    Say(reply);
    EXPECT_TRUE(link_.Step(0));
  }
  void Admit(const v1::Header& hello) {
    v1::Header reply, answer;
    reply.mutable_hello_reply()->set_connection(hello.hello().connection());
    reply.mutable_hello_reply()->set_server_epoch(9);
    Say(reply);
    answer.mutable_answer()->set_connection(hello.hello().connection());
    answer.mutable_answer()->set_is_catch_up(true);
    Say(answer);
    EXPECT_TRUE(link_.Step(0));
    EXPECT_FALSE(link_.is_connected());
    EXPECT_TRUE(link_.Step(0));
  }
  // What has come last; what is said now and then is left aside.
  std::optional<v1::Header> HeardLast() {
    std::optional<v1::Header> last;
    while (auto header = Heard()) {
      if (!header->has_heartbeat()) last = std::move(header);
    }
    return last;
  }

  const v1::Config config_ = SmallModel();
  const ModelLayout layout_{config_, 1};
  ManualClock clock_;
  transport::LoopbackNetwork network_;
  std::unique_ptr<transport::ServerTransport> coordinator_ = network_.MakeServer();
  transport::PeerId peer_;
  ServerLink link_{config_, layout_,
                   LinkOptions{.environment = {.clock = clock_, .nonce = [] { return 77; }},
                               .server_addresses = {kSteppedServer}},
                   network_.MakeClient()};
};

TEST_F(LinkStep, JoinsAndThenHasTheReplica) {
  EXPECT_FALSE(Heard()) << "the first step opens the connection";
  EXPECT_TRUE(link_.Step(0));
  EXPECT_EQ(Heard()->join().nonce(), 77u);
  clock_.Advance(299);
  EXPECT_TRUE(link_.Step(0));
  EXPECT_FALSE(Heard());
  clock_.Advance(1);
  EXPECT_TRUE(link_.Step(0));
  EXPECT_TRUE(Heard()->has_join());
  LetJoin();
  EXPECT_EQ(link_.incarnation(), 3u);
  EXPECT_FALSE(link_.is_connected());
  const auto hello = Heard();
  ASSERT_TRUE(hello && hello->has_hello());
  Admit(*hello);
  EXPECT_TRUE(link_.is_connected());
  EXPECT_TRUE(link_.failure().ok());
}

TEST_F(LinkStep, TellsWhatColumnsHaveLearnedBeforeItIsConnected) {
  EXPECT_TRUE(link_.Step(0));
  EXPECT_TRUE(Heard()->has_join());
  LetJoin(true);
  Admit(*Heard());
  EXPECT_FALSE(link_.is_connected());
  EXPECT_TRUE(link_.Step(0));
  const auto told = HeardLast();
  ASSERT_TRUE(told && told->work_request().has_learned());
  v1::Header reply;
  reply.mutable_work_reply()->set_request_id(told->work_request().request_id());
  Say(reply);
  EXPECT_TRUE(link_.Step(0));
  EXPECT_TRUE(link_.is_connected());
}

// A server that died is one of which nothing more can come.
TEST_F(LinkStep, SaysHelloToAServerThatIsStartedAgainWithoutWaitingForASilence) {
  EXPECT_TRUE(link_.Step(0));
  EXPECT_TRUE(Heard()->has_join());
  LetJoin();
  Admit(*Heard());
  ASSERT_TRUE(link_.is_connected());
  ASSERT_TRUE(link_.TryAcquireCredit());
  link_.SubmitPush({}, std::vector<Body>(1), link_.MarkRead());
  EXPECT_TRUE(link_.Step(0));
  EXPECT_TRUE(HeardLast()->has_push());
  clock_.Advance(300);
  coordinator_.reset();
  EXPECT_TRUE(link_.Step(0));
  coordinator_ = network_.MakeServer();
  ASSERT_TRUE(coordinator_->Bind(kSteppedServer).ok());
  const auto hello = HeardLast();
  ASSERT_TRUE(hello && hello->has_hello());
  EXPECT_EQ(hello->hello().connection(), 2u);
}

// A container that is stopped while its worker joins: nobody was silent.
TEST_F(LinkStep, APauseOfThisProcessIsNoSilenceOfTheCoordinator) {
  EXPECT_TRUE(link_.Step(0));
  clock_.Advance(1'000'000);
  EXPECT_TRUE(link_.Step(0));
  EXPECT_TRUE(HeardLast()->has_join());
  LetJoin();
  EXPECT_TRUE(HeardLast()->has_hello());
}

// Servers that load let a worker wait for long: it did not stand still meanwhile.
TEST_F(LinkStep, WhoHasWaitedLongToJoinDidNotStandStill) {
  EXPECT_TRUE(link_.Step(0));
  for (int i = 0; i < 200; ++i) {
    clock_.Advance(100);
    EXPECT_TRUE(link_.Step(0));
  }
  EXPECT_TRUE(HeardLast()->has_join());
  LetJoin();
  while (link_.failure().ok()) {
    clock_.Advance(100);
    EXPECT_TRUE(link_.Step(0));
  }
  EXPECT_EQ(link_.failure().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(link_.failure().message(), Not(HasSubstr("stood still")));
}

TEST_F(LinkStep, GivesASilentCoordinatorUpInItsTime) {
  int64_t waited_ms = 0;
  for (; link_.Step(0); waited_ms += 100) clock_.Advance(100);
  EXPECT_EQ(waited_ms, config_.cluster().connect_timeout_ms());
  EXPECT_EQ(link_.failure().code(), StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(link_.is_connected());
}

TEST_F(LinkStep, OfALinkThatWasStoppedDoesNothing) {
  EXPECT_TRUE(link_.Step(0));
  EXPECT_TRUE(Heard()->has_join());
  link_.Stop(Interrupted("interrupted"), true);
  clock_.Advance(1000);
  EXPECT_FALSE(link_.Step(0));
  EXPECT_FALSE(Heard()) << "who has not joined has nothing to say";
  EXPECT_EQ(link_.failure().code(), StatusCode::kInterrupted);
}

TEST_F(LinkStep, WhoHasJoinedAndFailsSaysWhy) {
  EXPECT_TRUE(link_.Step(0));
  EXPECT_TRUE(Heard()->has_join());
  LetJoin();
  v1::Header refusal;
  ASSERT_TRUE(Heard()->has_hello());
  refusal.mutable_refusal()->set_reason("the model section differs");
  Say(refusal);
  EXPECT_TRUE(link_.Step(0));
  EXPECT_TRUE(link_.Step(0));
  EXPECT_THAT(HeardLast()->leave().failure(), HasSubstr("the model section differs"));
  EXPECT_FALSE(link_.is_connected());
}

}  // namespace
}  // namespace weir::worker
