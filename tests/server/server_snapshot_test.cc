// A server whose log is cut by snapshots, and that is started anew from them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/log/segments.h"
#include "tests/server/logged_server.h"

namespace weir::server {
namespace {

class SnapshotServer : public LoggedServer {
 protected:
  SnapshotServer() : LoggedServer({.least_log_bytes = 400, .least_share = 0}) {}

  // Pushes from one on, until there are so many snapshots, or of so many. The last push.
  uint64_t PushUntil(size_t snapshots, uint64_t first, uint64_t most = 200) {
    uint64_t sequence = first;
    for (; Snapshots().size() < snapshots && sequence < first + most; ++sequence) {
      Exchange(PushHeader(sequence, connections_), {Gradient(static_cast<float>(sequence))});
    }
    return sequence - 1;
  }
  std::vector<log::Snapshot> Snapshots() { return log::FindSnapshots(files_, kData).value(); }
  std::vector<log::Segment> Segments() { return log::FindSegments(files_, kData).value(); }

  // Another life: the last push that it knows, and its parameters in changes_.
  uint64_t GoOn() {
    Kill();
    Start();
    const auto replies = Exchange(Hello(++connections_, epoch_));
    CHECK_EQ(replies.size(), 2u);
    return replies[0].hello_reply().last_sequence();
  }
  DenseChanges All() {
    Exchange(Hello(++connections_));
    return changes_;
  }

  uint32_t connections_ = 1;
};

TEST_F(SnapshotServer, GoesOnFromOne) {
  PushSome(1);
  const uint64_t last = PushUntil(1, 2);
  const DenseChanges before = All();
  // Without the log before it there is nothing else to go on from.
  ASSERT_TRUE(files_.Remove(Segments().front().path).ok());
  EXPECT_EQ(GoOn(), last);
  EXPECT_EQ(changes_, before);
  EXPECT_EQ(server_->shard().version(), last);
  const auto next = Exchange(PushHeader(last + 1, connections_), {Gradient(1)});
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].answer().version(), last + 1);
}

TEST_F(SnapshotServer, KnowsWhatAProcessHasSentAndNotTheOneBeforeIt) {
  PushSome(5);
  const size_t before = Segments().back().first_number;
  v1::Header newer = Hello(1);
  for (uint64_t i = 2; i < 100 && Segments().back().first_number == before; ++i) {
    newer.mutable_hello()->set_incarnation(i);
    Exchange(newer);
    for (int step = 0; step < 50; ++step) {
      server_->Step(0);
      clock_.Advance(10);
    }
  }
  ASSERT_GT(Segments().back().first_number, before);
  Kill();
  Start();
  newer.mutable_hello()->set_connection(2);
  EXPECT_EQ(Exchange(newer).at(0).hello_reply().last_sequence(), 0u);
}

TEST_F(SnapshotServer, KeepsTwoAndTheLogBehindTheFirst) {
  PushSome(1);
  uint64_t last = 1;
  for (int i = 0; i < 5; ++i) last = PushUntil(3, last + 1, 20);
  ASSERT_EQ(Snapshots().size(), 2u);
  EXPECT_GT(Snapshots().front().last_number, 20u) << "not the first two";
  EXPECT_EQ(Segments().front().first_number, Snapshots().front().last_number + 1);
}

TEST_F(SnapshotServer, GoesOnFromTheOneBeforeIfTheLastIsDamaged) {
  PushSome(1);
  const uint64_t last = PushUntil(3, 2, 60);
  const DenseChanges before = All();
  ASSERT_EQ(Snapshots().size(), 2u);
  ASSERT_GT(Segments().front().first_number, 1u) << "the initial values are of no use";
  const std::string newest = Snapshots().back().path;
  const Bytes whole = *files_.Contents(newest);
  for (const size_t at : {size_t{0}, size_t{50}, whole.size() / 2, whole.size() - 1}) {
    (*files_.Contents(newest))[at] ^= 1;
    EXPECT_EQ(GoOn(), last);
    EXPECT_EQ(changes_, before) << "with byte " << at << " damaged";
    *files_.Contents(newest) = whole;
  }
}

TEST_F(SnapshotServer, SaysWhatIsDamagedIfNothingIsLeft) {
  PushSome(1);
  PushUntil(3, 2, 60);
  ASSERT_GT(Segments().front().first_number, 1u);
  Kill();
  for (const log::Snapshot& snapshot : Snapshots()) files_.Contents(snapshot.path)->pop_back();
  Start();
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_THAT(outcome_->message(), testing::HasSubstr("begins with record"));
}

// It has what was promised since.
TEST_F(SnapshotServer, RefusesTheNewestWithoutTheLogBehindIt) {
  PushSome(1);
  PushUntil(1, 2);
  const uint64_t known = Snapshots().back().last_number;
  Kill();
  for (const log::Segment& segment : Segments()) {
    const bool is_behind = segment.first_number > known;
    ASSERT_TRUE(!is_behind || files_.Remove(segment.path).ok());
  }
  Start();
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_THAT(outcome_->message(), testing::HasSubstr("is not there: bring it back"));
}

TEST_F(SnapshotServer, RefusesOneWithoutALogThatSaysWhoseItIs) {
  PushSome(1);
  PushUntil(1, 2);
  Kill();
  for (const log::Segment& segment : Segments()) {
    ASSERT_TRUE(files_.Remove(segment.path).ok());
  }
  Start();
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_THAT(outcome_->message(), testing::HasSubstr("has snapshots, and no log"));
}

TEST_F(SnapshotServer, TakesAwayOneThatWasOnlyBegun) {
  Kill();
  ASSERT_TRUE(files_.Create("/data/snapshot-00000000000000000009.weir.partial").ok());
  Start();
  EXPECT_THAT(files_.List(kData).value(),
              testing::Not(testing::Contains(testing::HasSubstr("partial"))));
}

// The disk is full for a while.
TEST_F(SnapshotServer, GoesOnWithoutOneThatCannotBeWritten) {
  PushSome(1);
  files_.FailFiles("snapshot");
  Exchange(PushHeader(2), {Gradient(2)});
  for (uint64_t i = 3; i < 40; ++i) {
    ASSERT_EQ(Exchange(PushHeader(i), {Gradient(1)}).size(), 1u);
  }
  EXPECT_TRUE(Snapshots().empty());
  files_.FailFiles("");
  PushUntil(1, 40);
  EXPECT_EQ(Snapshots().size(), 1u);
}

}  // namespace
}  // namespace weir::server
