#include "common/store/piece.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "common/base/random.h"
#include "common/layout/initial_values.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/store/store_test_support.h"

namespace weir::store {
namespace {

using ::testing::ElementsAre;

// The first tensor has 700 x 13 = 9100 elements: two whole stripes and one of 908.
constexpr uint32_t kLastStripe = 2;

struct Change {
  size_t index;  // in the piece
  float value;
  bool operator==(const Change&) const = default;
};

// What the piece says changed, checking the visitor's contract on the way.
std::vector<Change> Changes(const Piece& piece, uint64_t since) {
  std::vector<Change> changes;
  int64_t last_stripe = -1;
  piece.ForEachChangedStripe(since, [&](const ChangedStripe& changed) {
    EXPECT_GT(int64_t{changed.stripe}, last_stripe);
    last_stripe = changed.stripe;
    EXPECT_EQ(changed.element_count, piece.StripeElements(changed.stripe));
    EXPECT_EQ(changed.values.size(),
              changed.dense ? changed.element_count : changed.indexes.size());
    EXPECT_EQ(changed.indexes.empty(), changed.dense);
    const size_t begin = changed.stripe * static_cast<size_t>(kStripeElements);
    for (size_t i = 0; i < changed.values.size(); ++i) {
      const size_t within = changed.dense ? i : changed.indexes[i];
      EXPECT_LT(within, changed.element_count);
      changes.push_back({begin + within, changed.values[i]});
    }
  });
  return changes;
}

// One rule step per element, one version per element, nothing clever.
class NaivePiece {
 public:
  NaivePiece(const Piece& piece, const UpdateRule& rule)
      : rule_(rule),
        values_(piece.values().begin(), piece.values().end()),
        state_(values_.size(), std::vector<float>(static_cast<size_t>(rule.StatePerElement()))),
        versions_(values_.size()) {
    for (std::vector<float>& state : state_) rule.InitialState(1, state);
  }

  void Apply(size_t index, float gradient, uint64_t version) {
    if (gradient == 0.0f) return;
    rule_.ApplyDense(std::span(values_).subspan(index, 1), state_[index], std::span(&gradient, 1),
                     version);
    versions_[index] = version;
  }
  std::vector<Change> ChangesSince(uint64_t since) const {
    std::vector<Change> changes;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (versions_[i] > since) changes.push_back({i, values_[i]});
    }
    return changes;
  }
  const std::vector<float>& values() const { return values_; }
  const std::vector<float>& state(size_t index) const { return state_[index]; }

 private:
  const UpdateRule& rule_;
  std::vector<float> values_;
  std::vector<std::vector<float>> state_;
  std::vector<uint64_t> versions_;
};

// A worker's copy, changed by answers only.
struct Replica {
  std::vector<float> values;
  uint64_t cursor = kEverything;

  void TakeAnswer(const Piece& piece, uint64_t version) {
    for (const Change& change : Changes(piece, cursor)) values[change.index] = change.value;
    cursor = version;
  }
};

float RandomGradient(RandomStream& random) {
  return random.NextBelow(5) == 0 ? 0.0f : static_cast<float>(random.NextNormal());
}

// Pushes random gradients to one random stripe of both.
// State lies stripe by stripe, and within a stripe kind by kind.
void ExpectSameState(const Piece& piece, const NaivePiece& naive) {
  std::span<const float> state = piece.state();
  size_t begin = 0;
  for (uint32_t stripe = 0; stripe < piece.stripe_count(); ++stripe) {
    const size_t count = piece.StripeElements(stripe), kinds = naive.state(0).size();
    for (size_t k = 0; k < kinds; ++k) {
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(state[k * count + i], naive.state(begin + i)[k]);
    }
    state = state.subspan(kinds * count);
    begin += count;
  }
  EXPECT_TRUE(state.empty());
}

void PushRandom(RandomStream& random, uint64_t version, Piece& piece, NaivePiece& naive) {
  const auto stripe = static_cast<uint32_t>(random.NextBelow(piece.stripe_count()));
  const size_t begin = stripe * static_cast<size_t>(kStripeElements);
  const bool dense = random.NextBelow(20) == 0;
  const uint64_t period = dense ? 1 : 1 + random.NextBelow(400);
  std::vector<uint16_t> indexes;
  std::vector<float> gradients;
  for (size_t i = 0; i < piece.StripeElements(stripe); ++i) {
    if (random.NextBelow(period) != 0) continue;
    indexes.push_back(static_cast<uint16_t>(i));
    gradients.push_back(RandomGradient(random));
    naive.Apply(begin + i, gradients.back(), version);
  }
  if (dense) {
    piece.ApplyDense(stripe, gradients, version);
  } else {
    piece.ApplySparse(stripe, indexes, gradients, version);
  }
}

class PieceFromVersion : public ::testing::TestWithParam<uint64_t> {
 protected:
  const ModelLayout layout_ = MakeLayout({});
  const PieceSpec& spec_ = layout_.pieces()[0];
};

TEST_P(PieceFromVersion, SaysExactlyWhatChangedSinceAnyVersion) {
  for (const char* name : {"sgd", "adagrad", "momentum"}) {
    RandomStream random(11, GetParam());
    const auto rule = MakeRule(std::string(name) + " { learning_rate: 0.1 }");
    Piece piece(layout_, spec_, *rule);
    NaivePiece naive(piece, *rule);
    const uint64_t first = GetParam();
    uint64_t version = first;
    for (int operation = 0; operation < 400; ++operation) {
      version += random.NextBelow(3);  // a push has several blocks, or none for this piece
      PushRandom(random, version, piece, naive);
      const uint64_t since = first - 1 + random.NextBelow(version - first + 2);
      ASSERT_EQ(Changes(piece, since), naive.ChangesSince(since)) << name << " " << operation;
    }
    EXPECT_TRUE(std::ranges::equal(piece.values(), naive.values()));
    ExpectSameState(piece, naive);
    EXPECT_TRUE(Changes(piece, version).empty());
  }
}

TEST_P(PieceFromVersion, AnswersOverAnyCursorsRebuildThePiece) {
  RandomStream random(12, GetParam());
  const auto rule = MakeRule("adagrad", 0.1);
  Piece piece(layout_, spec_, *rule);
  NaivePiece naive(piece, *rule);
  std::vector<Replica> replicas(5, {std::vector<float>(piece.values().size(), -1.0f)});
  uint64_t version = GetParam();
  for (int operation = 0; operation < 500; ++operation) {
    PushRandom(random, ++version, piece, naive);
    Replica& replica = replicas[random.NextBelow(replicas.size())];
    replica.TakeAnswer(piece, version);
    ASSERT_TRUE(std::ranges::equal(replica.values, piece.values())) << operation;
    if (random.NextBelow(50) == 0) replica.cursor = kEverything;
  }
}

TEST_P(PieceFromVersion, WithDenseSemanticsEveryPushMovesEveryElement) {
  for (const char* const text : {"momentum { learning_rate: 0.1 } dense_semantics: true",
                                 "sgd { learning_rate: 0.1 } l2_penalty: 0.1 "
                                 "dense_semantics: true"}) {
    RandomStream random(13, GetParam());
    const auto rule = MakeRule(text);
    Piece piece(layout_, spec_, *rule);
    std::vector<float> values(piece.values().begin(), piece.values().end());
    std::vector<float> state(values.size() * static_cast<size_t>(rule->StatePerElement()));
    for (uint64_t version = GetParam(); version < GetParam() + 20; ++version) {
      std::vector<float> gradients(values.size());
      for (uint32_t stripe = 0; stripe < piece.stripe_count(); ++stripe) {
        const auto of_stripe = std::span(gradients).subspan(
            stripe * static_cast<size_t>(kStripeElements), piece.StripeElements(stripe));
        if (random.NextBelow(3) == 0) continue;  // the push has nothing for it
        if (random.NextBelow(2) == 0) {
          for (float& gradient : of_stripe) gradient = static_cast<float>(random.NextNormal());
          piece.ApplyDense(stripe, of_stripe, version);
        } else {
          of_stripe[5] = 1.0f;
          of_stripe[900] = -2.0f;
          piece.ApplySparse(stripe, std::vector<uint16_t>{5, 900}, std::vector<float>{1, -2},
                            version);
        }
      }
      piece.FinishPush(version);
      rule->ApplyDense(values, state, gradients, version);
      ASSERT_TRUE(std::ranges::equal(piece.values(), values)) << version;
      EXPECT_EQ(Changes(piece, version - 1).size(), values.size());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, PieceFromVersion,
                         ::testing::Values(1, (uint64_t{1} << 32) - 200, uint64_t{1} << 40));

class PieceTest : public ::testing::Test {
 protected:
  const ModelLayout layout_ = MakeLayout({.bottom_widths = {11000, 4}});
  const std::unique_ptr<const UpdateRule> rule_ = MakeRule("sgd", 1);
};

TEST_F(PieceTest, StartsFromTheTensorsInitialValues) {
  // 11000 x 13 elements: the second piece begins in the middle of the tensor.
  const PieceSpec& spec = layout_.tensor_pieces(0)[1];
  ASSERT_GT(spec.begin, 0);
  const Piece piece(layout_, spec, *rule_);
  for (size_t i = 0; i < piece.values().size(); ++i) {
    ASSERT_EQ(piece.values()[i], InitialDenseValue(layout_.seed(), layout_.tensors()[0],
                                                   spec.begin + static_cast<int64_t>(i)));
  }
}

TEST_F(PieceTest, HasAShortLastStripe) {
  const ModelLayout layout = MakeLayout({});
  Piece piece(layout, layout.pieces()[0], *rule_);
  ASSERT_EQ(piece.stripe_count(), kLastStripe + 1);
  ASSERT_EQ(piece.StripeElements(kLastStripe), 908u);
  const float before = piece.values()[8192 + 907];
  piece.ApplySparse(kLastStripe, std::vector<uint16_t>{907}, std::vector<float>{0.5f}, 1);
  EXPECT_THAT(Changes(piece, 0), ElementsAre(Change{8192 + 907, before - 0.5f}));
  piece.ApplyDense(kLastStripe, std::vector<float>(908, 1.0f), 2);
  EXPECT_EQ(Changes(piece, 1).size(), 908u);
}

TEST_F(PieceTest, NothingChangedAtVersionZeroButEverythingIsThere) {
  const Piece piece(layout_, layout_.pieces()[0], *rule_);
  EXPECT_TRUE(Changes(piece, 0).empty());
  EXPECT_EQ(Changes(piece, kEverything).size(), piece.values().size());
}

TEST_F(PieceTest, ZeroGradientsAreNeitherTouchedNorStamped) {
  Piece piece(layout_, layout_.pieces()[0], *rule_);
  const std::vector<float> before(piece.values().begin(), piece.values().end());
  piece.ApplySparse(1, std::vector<uint16_t>{3, 4}, std::vector<float>{0.0f, -0.0f}, 1);
  piece.ApplyDense(0, std::vector<float>(kStripeElements), 2);
  piece.ApplySparse(0, {}, {}, 3);
  EXPECT_TRUE(Changes(piece, 0).empty());
  EXPECT_TRUE(std::ranges::equal(piece.values(), before));
}

TEST_F(PieceTest, YieldsAWhollyChangedStripeWithoutIndexes) {
  Piece piece(layout_, layout_.pieces()[0], *rule_);
  piece.ApplyDense(1, std::vector<float>(kStripeElements, 1.0f), 1);
  int stripe_count = 0;
  piece.ForEachChangedStripe(0, [&](const ChangedStripe& changed) {
    ++stripe_count;
    EXPECT_EQ(changed.stripe, 1u);
    EXPECT_TRUE(changed.dense);
    EXPECT_EQ(changed.values.data(), piece.values().data() + kStripeElements);
  });
  EXPECT_EQ(stripe_count, 1);
}

TEST_F(PieceTest, ForgetsNoChangeOverABillionsOfPushesWideGap) {
  Piece piece(layout_, layout_.pieces()[0], *rule_);
  const std::vector<float> gradient = {1.0f};
  piece.ApplySparse(0, std::vector<uint16_t>{10}, gradient, 10);
  const uint64_t late = uint64_t{1} << 33;
  piece.ApplySparse(0, std::vector<uint16_t>{20}, gradient, late);
  std::vector<float> replica(kStripeElements, -1.0f);
  for (const Change& change : Changes(piece, 5)) replica[change.index] = change.value;
  EXPECT_EQ(replica[10], piece.values()[10]);
  EXPECT_EQ(replica[20], piece.values()[20]);
  EXPECT_THAT(Changes(piece, late - 1), ElementsAre(Change{20, piece.values()[20]}));
}

TEST_F(PieceTest, RefusesARuleForRowsOnly) {
  const auto rowwise = MakeRule("rowwise_adagrad", 1);
  EXPECT_DEATH(Piece(layout_, layout_.pieces()[0], *rowwise), "rowwise_adagrad");
}

TEST_F(PieceTest, RefusesAVersionThatGoesBack) {
  Piece piece(layout_, layout_.pieces()[0], *rule_);
  piece.ApplySparse(0, {}, {}, 5);
  EXPECT_DEATH(piece.ApplySparse(0, {}, {}, 4), "order of their numbers");
}

TEST_F(PieceTest, CountsItsMemory) {
  const auto adagrad = MakeRule("adagrad", 1);
  const Piece stateless(layout_, layout_.pieces()[0], *rule_);
  const Piece stateful(layout_, layout_.pieces()[0], *adagrad);
  const auto elements = static_cast<int64_t>(stateful.values().size());
  EXPECT_EQ(stateful.memory_bytes() - stateless.memory_bytes(), 4 * elements);
  EXPECT_GE(stateless.memory_bytes(), 8 * elements);
}

}  // namespace
}  // namespace weir::store
