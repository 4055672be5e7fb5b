#include "common/session/score_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::session {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// A completion with scores of one row, one without, and one with scores of two rows.
class ScoreMessageTest : public testing::Test {
 protected:
  ScoreMessageTest() {
    parts_.push_back(WriteScores({.probabilities = {0.5f}, .unmasked = {}, .labels = {1}},
                                 request_.add_completions()));
    request_.add_completions();
    parts_.push_back(
        WriteScores({.probabilities = {0.25f, 0.75f}, .unmasked = {}, .labels = {0, 1}},
                    request_.add_completions()));
  }

  Result<std::vector<eval::Scores>> Read() const {
    return ReadAllScores(request_, std::vector<ByteSpan>(parts_.begin(), parts_.end()));
  }

  v1::WorkRequest request_;
  std::vector<Bytes> parts_;
};

TEST_F(ScoreMessageTest, EachCompletionHasItsOwn) {
  const auto all = Read();
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_THAT(*all, SizeIs(3));
  EXPECT_THAT((*all)[0].probabilities, ElementsAre(0.5f));
  EXPECT_THAT((*all)[1].labels, IsEmpty());
  EXPECT_THAT((*all)[2].probabilities, ElementsAre(0.25f, 0.75f));
}

TEST_F(ScoreMessageTest, AreMissing) {
  parts_.pop_back();
  EXPECT_EQ(Read().status().code(), StatusCode::kInvalidData);
}

TEST_F(ScoreMessageTest, WereNotAnnounced) {
  parts_.push_back(parts_.front());
  EXPECT_EQ(Read().status().code(), StatusCode::kInvalidData);
}

TEST_F(ScoreMessageTest, AreCutShort) {
  parts_.back().pop_back();
  EXPECT_FALSE(Read().ok());
}

}  // namespace
}  // namespace weir::session
