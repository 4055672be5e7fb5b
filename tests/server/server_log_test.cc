// A server with a log, whose life ends and begins again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/server/logged_server.h"

namespace weir::server {
namespace {

TEST_F(LoggedServer, GoesOnWhereItWas) {
  PushSome(3);
  Exchange(Hello(2));
  const DenseChanges before = changes_;
  Kill();
  Start();
  const auto replies = Exchange(Hello(3, epoch_, 3));
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_TRUE(replies[0].hello_reply().goes_on());
  EXPECT_NE(replies[0].hello_reply().server_epoch(), epoch_);
  EXPECT_EQ(replies[0].hello_reply().last_sequence(), 3u);
  EXPECT_EQ(replies[1].answer().version(), 3u);
  EXPECT_EQ(changes_, before) << "all of it, and not only what has changed since";
}

TEST_F(LoggedServer, TakesNothingTwice) {
  PushSome(3);
  Kill();
  Start();
  Exchange(Hello(2, epoch_, 2));
  const auto again = Exchange(PushHeader(3, 2), {Gradient(3)});
  ASSERT_EQ(again.size(), 1u);
  EXPECT_TRUE(again[0].answer().is_catch_up());
  EXPECT_TRUE(changes_.empty());
  const auto next = Exchange(PushHeader(4, 2), {Gradient(4)});
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].answer().version(), 4u);
}

TEST_F(LoggedServer, KnowsAllOfItsLives) {
  PushSome(1);
  for (uint32_t life = 2; life < 6; ++life) {
    Kill();
    Start();
    const auto replies = Exchange(Hello(life, epoch_));
    ASSERT_EQ(replies.size(), 2u);
    EXPECT_TRUE(replies[0].hello_reply().goes_on()) << "an epoch of some lives ago";
    ASSERT_EQ(Exchange(PushHeader(life, life), {Gradient(1)}).size(), 1u);
    EXPECT_EQ(server_->shard().version(), life);
  }
}

TEST_F(LoggedServer, TellsWhoKnewOtherParametersThatTheseAreNotTheirs) {
  PushSome(1);
  CHECK(client_->Send(connection_, MakeParts(Hello(2, epoch_ + 1000), {})).ok());
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(server_->Step(0).has_value());
  const auto reply = client_->Receive(0);
  ASSERT_TRUE(reply.has_value());
  EXPECT_FALSE(session::ParseHeader(reply->message)->hello_reply().goes_on());
}

TEST_F(LoggedServer, RefusesItsFormerProcesses) {
  PushSome(1);
  v1::Header newer = Hello(1);
  newer.mutable_hello()->set_incarnation(2);
  Exchange(newer);
  Kill();
  Start();
  const auto replies = Exchange(Hello(9, epoch_));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_THAT(replies[0].refusal().reason(), testing::HasSubstr("was replaced by incarnation 2"));
}

TEST_F(LoggedServer, EndsWithAMessageWhereTheDiskIsFull) {
  PushSome(2);
  files_.FailFrom(1);
  EXPECT_TRUE(Exchange(PushHeader(3), {Gradient(3)}).empty()) << "no answer without its record";
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_THAT(outcome_->message(), testing::HasSubstr("No space left on device"));
  Kill();
  files_.Heal();
  outcome_.reset();
  Start();
  const auto replies = Exchange(Hello(2, epoch_));
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].hello_reply().last_sequence(), 2u);
}

// Its next life would take pushes of the process before that.
TEST_F(LoggedServer, GreetsNoProcessWithoutARecordOfIt) {
  PushSome(1);
  files_.FailFrom(1);
  v1::Header next = Hello(1, epoch_);
  next.mutable_hello()->set_incarnation(2);
  CHECK(client_->Send(connection_, MakeParts(next, {})).ok());
  next.mutable_hello()->set_connection(2);  // it waits no longer, and asks again
  EXPECT_TRUE(Exchange(next).empty());
  EXPECT_TRUE(outcome_.has_value());
}

TEST_F(LoggedServer, LeavesNoLogOfARunThatIsOver) {
  PushSome(1);
  ASSERT_TRUE(server_->ClearLog().ok());
  EXPECT_TRUE(files_.List(kData).value().empty());
}

TEST_F(LoggedServer, LeavesNoneEitherWhereTheRunWasOverBeforeItHadLoaded) {
  PushSome(3);
  Kill();
  Start(0);
  server_->Step(0);
  ASSERT_TRUE(server_->ClearLog().ok());
  server_.reset();
  EXPECT_TRUE(files_.List(kData).value().empty());
}

// Of pushes with norms of 2.2, 4.5 and 6.7.
class BoundedLoggedServer : public LoggedServer {
 protected:
  BoundedLoggedServer() : LoggedServer({}, 1, 3) {}

  google::protobuf::RepeatedPtrField<v1::BoundedReport> Bounded() const {
    google::protobuf::RepeatedPtrField<v1::BoundedReport> reports;
    server_->bounded().Fill(&reports);
    return reports;
  }
};

TEST_F(BoundedLoggedServer, ScalesDownAgainWhatItsLogReplays) {
  PushSome(3);
  Exchange(Hello(2));
  const DenseChanges before = changes_;
  Kill();
  Start();
  Exchange(Hello(3, epoch_, 3));
  EXPECT_EQ(changes_, before) << "to the bit";
  const PieceSpec& own = *std::ranges::find(layout_.pieces(), 1u, &PieceSpec::server);
  const float norm = std::sqrt(5.0f) + 2 * 3;
  EXPECT_NEAR(changes_.at(own.tensor).at(own.begin + 1),
              InitialValue(layout_, own.tensor, own.begin + 1) -
                  static_cast<float>(kDenseRate) * norm / std::sqrt(5.0f),
              1e-6);
}

TEST_F(BoundedLoggedServer, CountsByTrainerWhatItScalesDown) {
  PushSome(3);
  const auto reports = Bounded();
  ASSERT_EQ(reports.size(), 1);
  EXPECT_EQ(reports[0].trainer(), 0u);
  EXPECT_EQ(reports[0].pushes(), 2u);
  EXPECT_EQ(reports[0].pieces(), 2u);
  EXPECT_EQ(reports[0].rows(), 0u);
  Kill();
  Start();
  EXPECT_TRUE(Bounded().empty()) << "each life counts its own";
}

// Else its log would come to other parameters.
TEST_F(BoundedLoggedServer, DoesNotGoOnWithAnotherBound) {
  PushSome(1);
  Kill();
  config_.mutable_update()->mutable_dense()->set_max_push_norm(4);
  const v1::RunIdentity other = session::MakeRunIdentity(config_, servers_, 0);
  EXPECT_THAT(DataFolder::Open(files_, kData, other, shard_).status().message(),
              testing::HasSubstr("the update rules (update)"));
}

}  // namespace
}  // namespace weir::server
