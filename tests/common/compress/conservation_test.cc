// Architecture 6.1: sent as decoded + residual + discarded == sum of the gradients, for each
// coordinate, whatever the threads do.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/common/compress/policy_support.h"

namespace weir::compress {
namespace {

constexpr int64_t kElements = 3 * kStripeElements + 777;
constexpr int kSteps = 40;

// What one thread gave in and saw leave.
struct Ledger {
  std::vector<double> gradients = std::vector<double>(kElements);
  std::vector<double> sent = std::vector<double>(kElements);
};

// Multiples of 1/64: every sum of them is exact in a float, in any order, so nothing that is lost
// can hide behind rounding. With one_sign a coordinate's gradients all point the same way.
void FillGradient(RandomStream& random, bool one_sign, std::vector<float>* gradient) {
  for (size_t i = 0; i < gradient->size(); ++i) {
    const double magnitude = static_cast<double>(1 + random.NextBelow(128)) / 64;
    const bool negative = one_sign ? i % 2 == 1 : random.NextBelow(2) == 1;
    (*gradient)[i] = static_cast<float>(negative ? -magnitude : magnitude);
  }
}

std::vector<uint32_t> ShuffledStripes(RandomStream& random, uint32_t count) {
  std::vector<uint32_t> stripes(count);
  std::iota(stripes.begin(), stripes.end(), 0u);
  for (size_t i = stripes.size(); i > 1; --i)
    std::swap(stripes[i - 1], stripes[random.NextBelow(i)]);
  return stripes;
}

class Hammer {
 public:
  Hammer(const Policy& policy, PolicyState& state, const Scope& scope, bool one_sign, int thread)
      : policy_(policy),
        state_(state),
        scope_(scope),
        one_sign_(one_sign),
        random_(scope.seed, thread),
        gradient_(kElements) {}

  void Run(Ledger* ledger) {
    for (int step = 0; step < kSteps; ++step) {
      FillGradient(random_, one_sign_, &gradient_);
      for (size_t i = 0; i < gradient_.size(); ++i) {
        ledger->gradients[i] += static_cast<double>(gradient_[i]);
      }
      AddSquaresOfLike(policy_, state_, gradient_, 4);
      if (random_.NextUnit() < 0.3) {
        policy_.Accumulate(state_, gradient_);
      } else {
        Push(ledger);
      }
    }
  }

 private:
  void Push(Ledger* ledger) {
    StepPlan plan = policy_.BeginStep(state_, gradient_);
    std::vector<uint32_t> agreed;
    AgreeWithItself(policy_, state_, scope_, &plan, &agreed);
    int64_t sent_count = 0;
    std::vector<uint32_t> busy;
    for (const uint32_t stripe : ShuffledStripes(random_, scope_.stripe_count())) {
      if (!TakeStripe(plan, stripe, false, &sent_count, ledger)) busy.push_back(stripe);
    }
    for (const uint32_t stripe : busy) {
      EXPECT_TRUE(TakeStripe(plan, stripe, true, &sent_count, ledger));
    }
    policy_.EndStep(state_, plan, sent_count);
  }

  bool TakeStripe(const StepPlan& plan, uint32_t stripe, bool wait, int64_t* sent_count,
                  Ledger* ledger) {
    if (!policy_.SelectStripe(state_, plan, stripe, StripeOf(gradient_, scope_, stripe), wait,
                              &selection_)) {
      return false;
    }
    *sent_count += selection_.count;
    Sent sent;
    AppendSelection(stripe, selection_, scope_.values, &sent);
    for (size_t i = 0; i < sent.values.size(); ++i) {
      ledger->sent[static_cast<size_t>(sent.indexes[i])] += static_cast<double>(sent.values[i]);
    }
    return true;
  }

  const Policy& policy_;
  PolicyState& state_;
  const Scope scope_;
  const bool one_sign_;
  RandomStream random_;
  std::vector<float> gradient_;
  StripeSelection selection_;
};

Ledger HammerWith(int thread_count, const Policy& policy, PolicyState& state, const Scope& scope,
                  bool one_sign) {
  std::vector<Ledger> ledgers(static_cast<size_t>(thread_count));
  std::barrier start(thread_count);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < thread_count; ++thread) {
    threads.emplace_back([&, thread] {
      Hammer hammer(policy, state, scope, one_sign, thread);
      start.arrive_and_wait();
      hammer.Run(&ledgers[static_cast<size_t>(thread)]);
    });
  }
  threads.clear();
  Ledger total;
  for (const Ledger& ledger : ledgers) {
    for (size_t i = 0; i < total.sent.size(); ++i) {
      total.gradients[i] += ledger.gradients[i];
      total.sent[i] += ledger.sent[i];
    }
  }
  return total;
}

using ThreadsAndValues = std::tuple<int, wire::ValueCoding>;

class Conservation : public testing::TestWithParam<ThreadsAndValues> {
 protected:
  int thread_count() const { return std::get<0>(GetParam()); }
  Scope scope() const { return MakeScope(kElements, std::get<1>(GetParam())); }

  // Nothing is discarded: every coordinate's account closes exactly.
  void ExpectClosedAccounts(const DctOptions& options) const {
    const auto policy = MakeDct(options);
    const auto state = policy->MakeState(scope());
    const Ledger ledger = HammerWith(thread_count(), *policy, *state, scope(), false);
    const std::vector<double> residual = ResidualOf(*policy, *state);
    size_t moved = 0;
    for (size_t i = 0; i < residual.size(); ++i) {
      ASSERT_EQ(ledger.sent[i] + residual[i], ledger.gradients[i]) << "coordinate " << i;
      moved += ledger.sent[i] != 0;
    }
    EXPECT_GT(moved, residual.size() / 2) << "a test in which little is sent shows little";
    EXPECT_EQ(policy->discarded_l1(*state), 0);
  }
};

TEST_P(Conservation, SentAndResidualAreTheSumOfGradients) {
  ExpectClosedAccounts({.sparsity = 0.9, .lifespan = 16});
}

TEST_P(Conservation, HoldsWhenTheResidualIsFlushed) {
  ExpectClosedAccounts(
      {.sparsity = 0.95, .lifespan = 16, .drain = v1::DctPolicy::FLUSH, .drain_period = 10});
}

TEST_P(Conservation, DiscardedMassIsWhatIsMissing) {
  const auto policy = MakeDct(
      {.sparsity = 0.95, .lifespan = 16, .drain = v1::DctPolicy::DISCARD, .drain_period = 10});
  const auto state = policy->MakeState(scope());
  const Ledger ledger = HammerWith(thread_count(), *policy, *state, scope(), true);
  const std::vector<double> residual = ResidualOf(*policy, *state);
  // Gradients of one sign leave residuals of that sign, except that BF16 may round up: a discarded
  // remainder then counts against the others of its coordinate, so there the mass is a bound.
  double missing = 0;
  for (size_t i = 0; i < residual.size(); ++i) {
    missing += std::fabs(ledger.gradients[i] - ledger.sent[i] - residual[i]);
  }
  const double discarded = policy->discarded_l1(*state);
  EXPECT_GT(missing, 0);
  if (scope().values == wire::ValueCoding::kF32) {
    EXPECT_EQ(missing, discarded);
  } else {
    EXPECT_LE(missing, discarded);
    EXPECT_NEAR(missing, discarded, 0.02 * discarded);
  }
}

INSTANTIATE_TEST_SUITE_P(DctDp, Conservation,
                         testing::Combine(testing::Values(1, 2, 8),
                                          testing::Values(wire::ValueCoding::kF32,
                                                          wire::ValueCoding::kBf16)),
                         [](const testing::TestParamInfo<ThreadsAndValues>& test) {
                           return std::to_string(std::get<0>(test.param)) + "Threads" +
                                  wire::ValueCodingName(std::get<1>(test.param));
                         });

// The other policies that keep all they do not send.
class ConservationOfEvery : public testing::TestWithParam<std::string> {};

TEST_P(ConservationOfEvery, SentAndResidualAreTheSumOfGradients) {
  const auto policy = MakePolicy(RuleNamed(GetParam()));
  for (const auto values : {wire::ValueCoding::kF32, wire::ValueCoding::kBf16}) {
    const Scope scope = MakeScope(kElements, values);
    const auto state = policy->MakeState(scope);
    const Ledger ledger = HammerWith(4, *policy, *state, scope, false);
    const std::vector<double> residual = ResidualOf(*policy, *state);
    // Means of a bucket are no multiples of anything.
    const double tolerance = GetParam() == "one_bit" ? 0.01 : 0;
    size_t moved = 0;
    for (size_t i = 0; i < residual.size(); ++i) {
      ASSERT_NEAR(ledger.sent[i] + residual[i], ledger.gradients[i], tolerance) << i;
      moved += ledger.sent[i] != 0 ? 1 : 0;
    }
    EXPECT_GT(moved, residual.size() / 20) << "a test in which little is sent shows little";
    EXPECT_EQ(policy->discarded_l1(*state), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, ConservationOfEvery,
                         testing::Values("top_k", "random_k", "hard_threshold", "strom", "sidco",
                                         "sidco GAMMA", "sidco PARETO", "hybrid", "hybrid AFTER",
                                         "variance FEEDBACK", "one_bit", "union_top_k",
                                         "union_hard_threshold", "clt_k", "deft", "exdyna",
                                         "exdyna PAPER"),
                         [](const testing::TestParamInfo<std::string>& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

// Gaussian gradients do not add exactly; here the account closes up to the rounding of float sums.
TEST(ConservationOfReals, HoldsUpToFloatRounding) {
  for (const auto values : {wire::ValueCoding::kF32, wire::ValueCoding::kBf16}) {
    const Scope scope = MakeScope(kElements, values);
    const auto policy = MakeDct({.sparsity = 0.98, .lifespan = 16});
    const auto state = policy->MakeState(scope);
    std::vector<double> balance(kElements);
    for (uint64_t step = 0; step < 100; ++step) {
      const std::vector<float> gradient = NormalGradient(kElements, step);
      for (size_t i = 0; i < balance.size(); ++i) balance[i] += static_cast<double>(gradient[i]);
      const Sent sent = TakeStep(*policy, *state, scope, gradient);
      for (size_t i = 0; i < sent.values.size(); ++i) {
        balance[static_cast<size_t>(sent.indexes[i])] -= static_cast<double>(sent.values[i]);
      }
    }
    const std::vector<double> residual = ResidualOf(*policy, *state);
    for (size_t i = 0; i < balance.size(); ++i) {
      // 100 sums, each within half a unit in the last place of a value below 32.
      ASSERT_NEAR(balance[i], residual[i], 100 * 0x1p-20) << "coordinate " << i;
    }
  }
}

}  // namespace
}  // namespace weir::compress
