// A piece that took over what another one had at some push goes on as that would have.
#include <algorithm>
#include <memory>
#include <vector>

#include "common/base/random.h"
#include "common/store/piece.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/store/store_test_support.h"

namespace weir::store {
namespace {

// What an answer to who has seen `since` would carry: per stripe, its elements and their values.
struct Answered {
  uint32_t stripe;
  bool dense;
  std::vector<uint16_t> indexes;
  std::vector<uint32_t> values;
  bool operator==(const Answered&) const = default;
};
std::vector<Answered> AnswerOf(const Piece& piece, uint64_t since) {
  std::vector<Answered> answer;
  piece.ForEachChangedStripe(since, [&](const ChangedStripe& stripe) {
    answer.push_back({stripe.stripe,
                      stripe.dense,
                      {stripe.indexes.begin(), stripe.indexes.end()},
                      BitsIn(stripe.values)});
  });
  return answer;
}

struct StripePush {
  uint32_t stripe;
  std::vector<uint16_t> indexes;  // empty: all of the stripe
  std::vector<float> gradients;
};

StripePush RandomStripePush(RandomStream& random, const Piece& piece) {
  StripePush push{.stripe = static_cast<uint32_t>(random.NextBelow(piece.stripe_count())),
                  .indexes = {},
                  .gradients = {}};
  size_t count = piece.StripeElements(push.stripe);
  if (random.NextBelow(5) != 0) {
    for (uint16_t i = 0; i < count; ++i) {
      if (random.NextBelow(50) == 0) push.indexes.push_back(i);
    }
    count = push.indexes.size();
  }
  push.gradients = RandomVector(random, count);
  return push;
}

void Take(const StripePush& push, uint64_t version, Piece* piece) {
  if (push.gradients.size() > push.indexes.size()) {
    piece->ApplyDense(push.stripe, push.gradients, version);
  } else {
    piece->ApplySparse(push.stripe, push.indexes, push.gradients, version);
  }
  piece->FinishPush(version);
}

constexpr const char* kRulesOfPieces[] = {
    "sgd { learning_rate: 0.1 }",
    "sgd { learning_rate: 0.1 } weight_decay: 0.01 l2_penalty: 0.01",
    "momentum { learning_rate: 0.1 }",
    "momentum { learning_rate: 0.1 } dense_semantics: true weight_decay: 0.01",
    "adagrad { learning_rate: 0.1 } schedule { warmup_steps: 20 }",
    "adam { learning_rate: 0.1 } weight_decay: 0.01 schedule { warmup_steps: 20 }",
    "adam { learning_rate: 0.1 } dense_semantics: true",
};

class PieceLoad : public testing::TestWithParam<const char*> {
 protected:
  // The first tensor has two whole stripes and one of 908 elements.
  Piece MakePiece(bool awaits_load) const {
    return {layout_, layout_.tensor_pieces(0)[0], *rule_, awaits_load};
  }
  Piece CopyOf(const Piece& piece, uint64_t version) const {
    Piece copy = MakePiece(true);
    copy.Load(piece.values(), piece.state(), version);
    return copy;
  }

  const ModelLayout layout_ = MakeLayout({});
  const std::unique_ptr<const UpdateRule> rule_ = MakeRule(GetParam());
  RandomStream random_{5};
};

TEST_P(PieceLoad, GoesOnAsTheOtherWouldHave) {
  constexpr uint64_t kVersion = 30;
  Piece original = MakePiece(false);
  for (uint64_t version = 1; version <= kVersion; ++version) {
    Take(RandomStripePush(random_, original), version, &original);
  }
  Piece copy = CopyOf(original, kVersion);
  EXPECT_TRUE(AnswerOf(copy, kVersion).empty());
  for (uint64_t version = kVersion + 1; version <= 2 * kVersion; ++version) {
    const StripePush push = RandomStripePush(random_, original);
    Take(push, version, &original);
    Take(push, version, &copy);
    ASSERT_EQ(BitsIn(copy.values()), BitsIn(original.values()));
    ASSERT_EQ(BitsIn(copy.state()), BitsIn(original.state()));
    for (const uint64_t since : {kVersion, version - 1, version, kEverything}) {
      ASSERT_EQ(AnswerOf(copy, since), AnswerOf(original, since)) << since;
    }
  }
}

TEST_P(PieceLoad, ChangesSinceAnEarlierPushAreAllElements) {
  Piece original = MakePiece(false);
  Take(RandomStripePush(random_, original), 1, &original);
  Piece copy = CopyOf(original, 8);
  for (const uint64_t since : {0u, 1u, 7u}) {
    EXPECT_EQ(AnswerOf(copy, since), AnswerOf(copy, kEverything)) << since;
  }
  Take(RandomStripePush(random_, original), 9, &copy);
  EXPECT_EQ(AnswerOf(copy, 7), AnswerOf(copy, kEverything));
}

INSTANTIATE_TEST_SUITE_P(Rules, PieceLoad, testing::ValuesIn(kRulesOfPieces));

}  // namespace
}  // namespace weir::store
