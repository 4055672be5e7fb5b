// The vector kernels against a plain loop: on every instruction set that this machine has, to the
// bit.
#include "common/compress/stripe_select.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "tests/common/compress/instruction_sets.h"
#include "tests/common/compress/same_bits.h"

namespace weir::compress {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kTiniest = std::numeric_limits<float>::denorm_min();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Stripe {
  std::vector<float> gradient, residual;
};

struct Selected {
  std::vector<uint16_t> indexes;
  std::vector<float> values;
  std::vector<float> residual;
};

Selected Plain(const Stripe& stripe, float threshold, wire::ValueCoding coding) {
  Selected out = {.indexes = {}, .values = {}, .residual = stripe.residual};
  for (size_t i = 0; i < stripe.gradient.size(); ++i) {
    float& left = out.residual[i];
    left += stripe.gradient[i];
    if (std::fabs(left) < threshold || left == 0) continue;  // NaN is sent
    const float value = wire::Round(left, coding);
    left -= value;
    if (value == 0) continue;
    out.indexes.push_back(static_cast<uint16_t>(i));
    out.values.push_back(value);
  }
  return out;
}

Selected PlainQuanta(const Stripe& stripe, float quantum) {
  Selected out = {.indexes = {}, .values = {}, .residual = stripe.residual};
  for (size_t i = 0; i < stripe.gradient.size(); ++i) {
    float& left = out.residual[i];
    left += stripe.gradient[i];
    if (!(std::fabs(left) > quantum)) continue;
    out.indexes.push_back(static_cast<uint16_t>(i));
    out.values.push_back(std::copysign(quantum, left));
    left = std::isinf(left) ? kNan : left - out.values.back();
  }
  return out;
}

// select: from gradient and residual into a selection. shift: elements by which the stripe lies off
// the alignment of its memory.
template <typename Select>
Selected FastBy(const Select& select, const Stripe& stripe, size_t shift) {
  const size_t size = stripe.gradient.size();
  std::vector<float> gradient(shift + size), residual(shift + size + 1, -7.0f);
  std::copy(stripe.gradient.begin(), stripe.gradient.end(),
            gradient.begin() + std::ssize(gradient) - std::ssize(stripe.gradient));
  std::copy(stripe.residual.begin(), stripe.residual.end(),
            residual.begin() + static_cast<ptrdiff_t>(shift));
  const auto selection = std::make_unique<StripeSelection>();
  selection->dense = true;
  selection->count = 77;
  select(std::span(gradient).subspan(shift), std::span(residual).subspan(shift, size),
         selection.get());
  EXPECT_FALSE(selection->dense);
  for (size_t i = 0; i < shift; ++i) EXPECT_EQ(residual[i], -7.0f) << "before the stripe";
  EXPECT_EQ(residual.back(), -7.0f) << "behind the stripe";
  return {.indexes = {selection->indexes.begin(), selection->indexes.begin() + selection->count},
          .values = {selection->values.begin(), selection->values.begin() + selection->count},
          .residual = {residual.begin() + static_cast<ptrdiff_t>(shift), residual.end() - 1}};
}

Selected Fast(const Stripe& stripe, float threshold, wire::ValueCoding coding, size_t shift) {
  return FastBy(
      [&](auto gradient, auto residual, auto* selection) {
        AccumulateAndSelect(gradient, threshold, coding, residual, selection);
      },
      stripe, shift);
}

void ExpectSame(const Selected& actual, const Selected& expected) {
  ASSERT_EQ(actual.indexes, expected.indexes);
  ExpectSameBits(actual.values, expected.values);
  ExpectSameBits(actual.residual, expected.residual);
}

void ExpectQuantaAsPlain(const Stripe& stripe, float quantum, size_t shift) {
  SCOPED_TRACE(testing::Message() << "quanta, " << stripe.gradient.size() << " elements, shift "
                                  << shift << ", quantum " << quantum);
  const auto quantize = [&](auto gradient, auto residual, auto* selection) {
    AccumulateAndQuantize(gradient, quantum, residual, selection);
  };
  ExpectSame(FastBy(quantize, stripe, shift), PlainQuanta(stripe, quantum));
}

void ExpectAsPlain(const Stripe& stripe, float threshold, size_t shift = 0) {
  if (threshold > 0 && std::isfinite(threshold)) ExpectQuantaAsPlain(stripe, threshold, shift);
  for (const auto coding : {wire::ValueCoding::kF32, wire::ValueCoding::kBf16}) {
    SCOPED_TRACE(testing::Message()
                 << wire::ValueCodingName(coding) << ", " << stripe.gradient.size()
                 << " elements, shift " << shift << ", threshold " << threshold);
    ExpectSame(Fast(stripe, threshold, coding, shift), Plain(stripe, threshold, coding));
    if (testing::Test::HasFatalFailure()) return;
  }
}

Stripe NormalStripe(size_t size, RandomStream& random) {
  Stripe stripe;
  for (size_t i = 0; i < size; ++i) {
    stripe.gradient.push_back(static_cast<float>(random.NextNormal()));
    stripe.residual.push_back(static_cast<float>(random.NextNormal()));
  }
  return stripe;
}

// Any bits: NaNs, infinities, denormals and zeros of both signs among them.
float AnyFloat(RandomStream& random) {
  constexpr uint32_t kSpecial[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                   0x7f7fffff, 0xff7fffff, 0x00000001, 0x80000001, 0x00007fff,
                                   0x00008000, 0x00008001, 0x007fffff, 0x00800000, 0x3f800000,
                                   0xbf808000, 0x3f818000, 0x7f7f8000, 0x7f7f7fff, 0x7f800001};
  const uint64_t draw = random.Next();
  const auto bits = static_cast<uint32_t>(draw >> 32);
  return std::bit_cast<float>(draw % 2 == 0 ? kSpecial[bits % std::size(kSpecial)] : bits);
}

class StripeSelect : public OnEachInstructionSet {};

TEST_P(StripeSelect, IsThePlainLoopForEveryShapeAndDensity) {
  RandomStream random(1);
  for (const size_t size : {0u,  1u,  2u,   3u,   7u,   8u,   15u,   16u,   17u,   63u,
                            64u, 65u, 127u, 511u, 512u, 513u, 1000u, 4031u, 4095u, 4096u}) {
    for (const float threshold : {0.0f, 0.5f, 1.5f, 2.8f, 3.7f, 100.0f}) {
      ExpectAsPlain(NormalStripe(size, random), threshold, random.NextBelow(20));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(StripeSelect, IsThePlainLoopWhereDensityChangesWithinTheStripe) {
  RandomStream random(2);
  for (int round = 0; round < 50; ++round) {
    Stripe stripe = NormalStripe(4096 - random.NextBelow(600), random);
    for (size_t i = 0; i < stripe.gradient.size(); ++i) {
      if (KeyedHash(static_cast<uint64_t>(round), i / 200) % 3 == 0) stripe.gradient[i] *= 8;
    }
    ExpectAsPlain(stripe, 3.7f, random.NextBelow(20));
    if (HasFatalFailure()) return;
  }
}

TEST_P(StripeSelect, IsThePlainLoopForAnyBits) {
  RandomStream random(3);
  for (int round = 0; round < 200; ++round) {
    Stripe stripe;
    const size_t size = random.NextBelow(700);
    for (size_t i = 0; i < size; ++i) {
      stripe.gradient.push_back(random.NextBelow(3) == 0 ? 0.0f : AnyFloat(random));
      stripe.residual.push_back(random.NextBelow(3) == 0 ? -0.0f : AnyFloat(random));
    }
    for (const float threshold : {0.0f, -1.0f, kTiniest, 1e-39f, 1.0f, 1e38f, kInfinity}) {
      ExpectAsPlain(stripe, threshold, random.NextBelow(20));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(StripeSelect, SelectsAWholeStripe) {
  ExpectAsPlain({std::vector<float>(4096, 1.0f), std::vector<float>(4096, 0x1p-12f)}, 0);
}

TEST_P(StripeSelect, SelectsNoZerosNorWhatRoundsToThem) {
  const Stripe stripe = {{0.0f, -0.0f, kTiniest, 1.0f, kNan, -kTiniest, -2.0f},
                         {0.0f, -0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}};
  EXPECT_EQ(Fast(stripe, 0, wire::ValueCoding::kF32, 0).indexes,
            (std::vector<uint16_t>{2, 3, 4, 5, 6}));
  const Selected rounded = Fast(stripe, 0, wire::ValueCoding::kBf16, 0);
  EXPECT_EQ(rounded.indexes, (std::vector<uint16_t>{3, 4, 6}));
  EXPECT_EQ(rounded.residual[2], kTiniest);
}

TEST_P(StripeSelect, AccumulatesAtEveryLength) {
  RandomStream random(4);
  for (size_t size = 0; size < 100; ++size) {
    const Stripe stripe = NormalStripe(size, random);
    std::vector<float> residual = stripe.residual;
    AccumulateStripe(stripe.gradient, residual);
    for (size_t i = 0; i < size; ++i) {
      ASSERT_EQ(residual[i], stripe.residual[i] + stripe.gradient[i]) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, StripeSelect, InstructionSets(), InstructionSetName);

}  // namespace
}  // namespace weir::compress
