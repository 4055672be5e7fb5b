// The vector kernel against a plain loop, on every instruction set that this machine has, to the
// bit.
#include "common/compress/variance_select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "common/base/random.h"
#include "tests/common/compress/instruction_sets.h"
#include "tests/common/compress/same_bits.h"

namespace weir::compress {
namespace {

struct VarianceStripe {
  std::vector<float> gradient, residual, square_sums;
};

// Small numbers of few values, so that the test's two sides are often equal; a few odd ones.
VarianceStripe RandomVarianceStripe(RandomStream& random, size_t size) {
  constexpr float kOdd[] = {std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), 1e30f, 1e-30f, -0.0f};
  const auto next = [&](float least) {
    if (random.NextUnit() < 0.02) return kOdd[random.NextBelow(std::size(kOdd))];
    return least + static_cast<float>(random.NextBelow(9)) / 4;
  };
  VarianceStripe stripe;
  for (size_t i = 0; i < size; ++i) {
    stripe.gradient.push_back(next(-1));
    stripe.residual.push_back(next(-1));
    stripe.square_sums.push_back(std::fabs(next(0)));
  }
  return stripe;
}

std::vector<uint16_t> Plain(const VarianceTest& test, VarianceStripe* stripe) {
  std::vector<uint16_t> passing;
  for (size_t i = 0; i < stripe->gradient.size(); ++i) {
    const float r = stripe->residual[i] += stripe->gradient[i];
    if (r * r > test.alpha * stripe->square_sums[i] && std::fabs(r) > test.threshold) {
      passing.push_back(static_cast<uint16_t>(i));
    }
  }
  return passing;
}

using VarianceSelect = OnEachInstructionSet;

TEST_P(VarianceSelect, AgreesWithAPlainLoop) {
  RandomStream random(1);
  std::array<uint16_t, kStripeElements> indexes;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{17}, size_t{1000},
                            static_cast<size_t>(kStripeElements)}) {
    for (const float threshold : {0.0f, 1.0f}) {
      const VarianceTest test = {.alpha = 1.5f, .threshold = threshold};
      VarianceStripe plain = RandomVarianceStripe(random, size), fast = plain;
      const std::vector<uint16_t> expected = Plain(test, &plain);
      const size_t count =
          AccumulateAndTest(fast.gradient, test, fast.residual, fast.square_sums, indexes.data());
      EXPECT_EQ(
          std::vector<uint16_t>(indexes.begin(), indexes.begin() + static_cast<ptrdiff_t>(count)),
          expected)
          << size;
      ExpectSameBits(fast.residual, plain.residual);
    }
  }
}

std::vector<float> PlainQuanta(const VarianceTest& test, bool corrects_after,
                               VarianceStripe* stripe) {
  const float quantum = test.threshold;
  std::vector<float> values;
  for (size_t i = 0; i < stripe->gradient.size(); ++i) {
    float& r = stripe->residual[i] += stripe->gradient[i];
    float& v = stripe->square_sums[i];
    if (r * r > test.alpha * v && std::fabs(r) > quantum) {
      const float before = r;
      values.push_back(std::copysign(quantum, r));
      r = std::isinf(r) ? std::numeric_limits<float>::quiet_NaN() : r - values.back();
      const float square = quantum * quantum;
      const float product = std::fabs((2 * quantum) * (corrects_after ? r : before));
      v = std::max((v + square) - product, 0.0f);
    }
  }
  return values;
}

TEST_P(VarianceSelect, TakesQuantaAsAPlainLoopDoes) {
  RandomStream random(2);
  const auto selection = std::make_unique<StripeSelection>();
  for (const size_t size :
       {size_t{1}, size_t{17}, size_t{1000}, static_cast<size_t>(kStripeElements)}) {
    for (const bool corrects_after : {false, true}) {
      // No power of two, so that a fused product would show.
      const VarianceTest test = {.alpha = 1.5f, .threshold = 0.1f};
      VarianceStripe plain = RandomVarianceStripe(random, size);
      for (float& square : plain.square_sums) square = std::isfinite(square) ? square : 0;
      VarianceStripe fast = plain;
      const std::vector<float> expected = PlainQuanta(test, corrects_after, &plain);
      AccumulateAndTakeQuanta(fast.gradient, test, corrects_after, fast.residual, fast.square_sums,
                              selection.get());
      EXPECT_EQ(std::vector<float>(selection->values.begin(),
                                   selection->values.begin() + selection->count),
                expected);
      ExpectSameBits(fast.residual, plain.residual);
      for (size_t i = 0; i < size; ++i) {  // of infinity and NaN nothing is promised
        if (!std::isfinite(plain.residual[i])) continue;
        ASSERT_EQ(fast.square_sums[i], plain.square_sums[i]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, VarianceSelect, InstructionSets(), InstructionSetName);

}  // namespace
}  // namespace weir::compress
