#include "worker/link/outstanding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::worker {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

v1::Header WorkRequest() {
  v1::Header header;
  header.mutable_work_request();
  return header;
}

Body OnePart(size_t size) { return {transport::Part(Bytes(size))}; }

TEST(OutstandingTest, APullIsDoneWhenEveryServerThatWasAskedHasAnswered) {
  Outstanding outstanding;
  const uint64_t id = outstanding.AddPull({OnePart(1), {}, OnePart(2)}, false, 10);
  EXPECT_FALSE(outstanding.PullFor(1, id)) << "nothing was asked of it";
  EXPECT_FALSE(outstanding.PullIsDone(id));
  EXPECT_EQ(outstanding.OnRowReply(0, id, OnePart(7)), 10) << "waited for since then";
  EXPECT_FALSE(outstanding.OnRowReply(0, id, OnePart(8)));
  EXPECT_FALSE(outstanding.PullIsDone(id)) << "a second answer of the same server counts once";
  outstanding.OnRowReply(2, id, OnePart(9));
  ASSERT_TRUE(outstanding.PullIsDone(id));
  const std::vector<Body> replies = outstanding.TakePull(id);
  ASSERT_THAT(replies, SizeIs(3));
  EXPECT_EQ(replies[0][0].size(), 7u) << "the first answer stands";
  EXPECT_THAT(replies[1], IsEmpty());
  EXPECT_EQ(replies[2][0].size(), 9u);
  EXPECT_FALSE(outstanding.OnRowReply(2, id, OnePart(9))) << "nobody waits any more";
}

TEST(OutstandingTest, AProbeIsDoneWhenTheLastReplyCame) {
  Outstanding outstanding;
  const uint64_t id = outstanding.AddProbe({OnePart(5), {}, OnePart(6)}, 10);
  const auto request = outstanding.PullFor(2, id);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->header.probe().request_id(), id);
  EXPECT_EQ(request->body[0].size(), 6u);
  EXPECT_EQ(outstanding.OnProbeReply(2, id, 1.5), 10);
  EXPECT_FALSE(outstanding.PullIsDone(id));
  outstanding.OnProbeReply(0, id, 2.5);
  outstanding.OnProbeReply(0, id, 9);
  ASSERT_TRUE(outstanding.PullIsDone(id));
  EXPECT_EQ(outstanding.TakeProbe(id), 2.5);
  EXPECT_FALSE(outstanding.OnProbeReply(0, id, 9)) << "nobody waits any more";
}

TEST(OutstandingTest, OnlyWhatAServerOwesIsRepeated) {
  Outstanding outstanding;
  const uint64_t first = outstanding.AddPull({OnePart(1), OnePart(2)}, false, 10);
  const uint64_t second = outstanding.AddPull({OnePart(3), {}}, true, 20);
  outstanding.OnRowReply(0, first, OnePart(5));
  const std::vector<Request> of_first_server = outstanding.AllFor(0);
  ASSERT_THAT(of_first_server, SizeIs(1));
  EXPECT_EQ(of_first_server[0].header.row_pull().request_id(), second);
  EXPECT_TRUE(of_first_server[0].header.row_pull().read_only());
  const std::vector<Request> of_second_server = outstanding.AllFor(1);
  ASSERT_THAT(of_second_server, SizeIs(1));
  EXPECT_EQ(of_second_server[0].header.row_pull().request_id(), first);
  EXPECT_EQ(of_second_server[0].body[0].size(), 2u);
}

TEST(OutstandingTest, WorkIsOwedByTheCoordinatorAlone) {
  Outstanding outstanding;
  outstanding.SetExchange(WorkRequest(), OnePart(4), 10);
  EXPECT_FALSE(outstanding.ExchangeFor(1));
  const auto request = outstanding.ExchangeFor(0);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->body[0].size(), 4u);
  const uint64_t id = request->header.work_request().request_id();
  v1::Header reply;
  reply.mutable_work_reply()->set_wait_ms(5);
  outstanding.OnExchangeReply(id + 1, reply);
  EXPECT_FALSE(outstanding.ExchangeIsDone()) << "a reply to something else";
  outstanding.OnExchangeReply(id, reply);
  EXPECT_TRUE(outstanding.ExchangeIsDone());
  EXPECT_FALSE(outstanding.ExchangeFor(0)) << "it is not repeated";
  EXPECT_EQ(outstanding.TakeExchange()->work_reply().wait_ms(), 5u);
}

TEST(OutstandingTest, EveryExchangeHasItsOwnNumber) {
  Outstanding outstanding;
  outstanding.SetExchange(WorkRequest(), {}, 0);
  const uint64_t first = outstanding.ExchangeFor(0)->header.work_request().request_id();
  EXPECT_FALSE(outstanding.TakeExchange()) << "given up without a reply";
  v1::Header report;
  report.mutable_report();
  outstanding.SetExchange(report, {}, 0);
  EXPECT_EQ(outstanding.ExchangeFor(0)->header.report().request_id(), first + 1);
}

TEST(OutstandingTest, TheOldestIsPerServerAndKind) {
  Outstanding outstanding;
  EXPECT_FALSE(outstanding.Oldest(0).data_since_ms);
  EXPECT_FALSE(outstanding.Oldest(0).word_since_ms);
  outstanding.SetExchange(WorkRequest(), {}, 10);
  const uint64_t id = outstanding.AddPull({OnePart(1), OnePart(1)}, false, 20);
  EXPECT_EQ(outstanding.Oldest(0).data_since_ms, 20);
  EXPECT_EQ(outstanding.Oldest(0).word_since_ms, 10);
  EXPECT_EQ(outstanding.Oldest(1).data_since_ms, 20);
  EXPECT_FALSE(outstanding.Oldest(1).word_since_ms);
  outstanding.OnRowReply(0, id, {});
  EXPECT_FALSE(outstanding.Oldest(0).data_since_ms);
  outstanding.SetSection(0, {}, 30);
  EXPECT_EQ(outstanding.Oldest(0).data_since_ms, 30);
  outstanding.OnRowReply(1, id, {});
  EXPECT_FALSE(outstanding.Oldest(1).data_since_ms);
}

TEST(OutstandingTest, AnUnansweredHeartbeatWaitsForTheCoordinator) {
  Outstanding outstanding;
  outstanding.AddHeartbeat(10);
  outstanding.AddHeartbeat(20);
  EXPECT_EQ(outstanding.Oldest(0).word_since_ms, 10);
  EXPECT_FALSE(outstanding.Oldest(1).word_since_ms) << "it goes to server 0";
  EXPECT_TRUE(outstanding.AllFor(0).empty()) << "the next one comes soon enough";
  EXPECT_EQ(outstanding.OnExchangeReply(0, {}), 10);
  EXPECT_FALSE(outstanding.Oldest(0).word_since_ms);
  EXPECT_FALSE(outstanding.OnExchangeReply(0, {}));
  outstanding.AddHeartbeat(30);
  outstanding.ForgetHeartbeats();
  EXPECT_FALSE(outstanding.Oldest(0).word_since_ms);
}

}  // namespace
}  // namespace weir::worker
