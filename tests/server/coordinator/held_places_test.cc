// Replies to workers whose next chunk begins where another looks for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/server/coordinator/asking.h"

namespace weir::server {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// Of two trainers that share a file, and are at work.
class HeldRepliesOfPlaces : public testing::Test {
 protected:
  HeldRepliesOfPlaces() {
    v1::DataConfig& data = *config_.mutable_data();
    data.clear_synthetic();
    data.mutable_criteo_tsv();
    data.add_train("f");
    coordinator_.emplace(config_, session::MakeRunIdentity(config_, 1), 1, 77);
    for (const uint32_t trainer : {0, 1}) JoinAs(trainer, config_, &*coordinator_);
    for (const uint32_t trainer : {0, 1}) CHECK(Ask(trainer, BusyRequest(1)));
    CHECK(Ask(1, Word(2)));
    CHECK(Ask(0, BusyRequest(2))->work_reply().chunk().wants_next());
    CHECK(!Ask(1, BusyRequest(3))) << "it waits though it is at work";
  }

  static v1::WorkRequest BusyRequest(uint64_t id) {
    v1::WorkRequest request;
    request.set_request_id(id);
    return request;
  }
  std::optional<v1::Header> Ask(uint32_t trainer, const v1::WorkRequest& request) {
    return AskAs(trainer, request, "peer", now_ms_, &*coordinator_);
  }
  static v1::WorkRequest Word(uint64_t id) {
    v1::WorkRequest word = BusyRequest(id);
    word.set_wants_nothing(true);
    return word;
  }
  auto Taken() { return coordinator_->TakeHeldReplies(now_ms_); }

  v1::Config config_ = TinyConfig();
  std::optional<Coordinator> coordinator_;
  int64_t now_ms_ = 1000;
};

TEST_F(HeldRepliesOfPlaces, AreSentWhenThePlaceIsTold) {
  v1::WorkRequest word = Word(3);
  v1::FoundPlace& found = *word.add_places();
  found.set_split(v1::TRAIN);
  found.mutable_place()->set_chunk(3);
  found.mutable_place()->set_entry(900);
  found.mutable_place()->set_text_lines(30);
  EXPECT_TRUE(Ask(0, word));
  const auto replies = Taken();
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_EQ(replies[0].header.work_reply().chunk().chunk(), 3u);
  EXPECT_EQ(replies[0].header.work_reply().chunk().place().entry(), 900u);
}

TEST_F(HeldRepliesOfPlaces, AreSentWhenNoneIsFoundOrItTakesLong) {
  EXPECT_THAT(Taken(), IsEmpty());
  now_ms_ += cluster::RunDirector::kLongestLookMs;
  auto replies = Taken();
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_EQ(replies[0].header.work_reply().chunk().chunk(), 3u);
  EXPECT_FALSE(Ask(0, BusyRequest(3))) << "now the other looks for chunk 4";
  EXPECT_TRUE(Ask(1, Word(4)));
  replies = Taken();
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_EQ(replies[0].header.work_reply().chunk().chunk(), 4u);
}

// It pushes for what it has at work, over its next connection, and others may not do that again.
TEST_F(HeldRepliesOfPlaces, ThatNobodyTakesLeaveTheirWorkerWhatItHas) {
  now_ms_ += cluster::RunDirector::kLongestLookMs;
  const auto replies = Taken();
  ASSERT_THAT(replies, SizeIs(1));
  ASSERT_EQ(replies[0].header.work_reply().chunk().chunk(), 3u);
  coordinator_->OnLostReply({1, 0});
  const auto again = Ask(1, BusyRequest(3));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->DebugString(), replies[0].header.DebugString());
  EXPECT_TRUE(Ask(1, Word(4)));
  const auto other = Ask(0, BusyRequest(3));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->work_reply().chunk().chunk(), 4u) << "none that was lent before";
}

// Else it would not get done with what it has.
TEST_F(HeldRepliesOfPlaces, AreSentWhenItHasToFinishItsWork) {
  v1::WorkRequest word = Word(3);
  v1::FileEnd& end = *word.add_file_ends();
  end.set_split(v1::TRAIN);
  end.set_chunk_count(3);
  EXPECT_TRUE(Ask(0, word));
  const auto replies = Taken();
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_EQ(replies[0].header.work_reply().work_case(), v1::WorkReply::kWaitMs);
}

}  // namespace
}  // namespace weir::server
