#include "common/kernels/bf16_tile.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <tuple>
#include <vector>

#include "common/base/hogwild.h"
#include "common/base/random.h"
#include "common/wire/value_coding.h"
#include "tests/common/kernels/bf16_product_support.h"
#include "tests/common/kernels/each_target.h"

namespace weir::kernels::cpu {
namespace {

using test::Bf16Case;
using test::ExpectBf16Products;
using test::High;
using test::Low;

#include "common/kernels/bf16_block.inc"

// The blocks of the widest units, without them: sixteen lanes, four vectors by six columns.
struct PlainOps {
  static constexpr int64_t kLanes = kBf16Lanes;
  static constexpr int kVectors = 4, kColumns = 6;
  using Sum = std::array<float, kLanes>;
  using Pairs = Sum;

  static Sum Zero() { return {}; }
  static Sum AddTo(const Sum& old, float keep, Sum sum) {
    for (size_t i = 0; i < kLanes; ++i) sum[i] += old[i] * keep;
    return sum;
  }
  static Sum LoadSome(const float* from, int64_t count) {
    Sum sum{};
    std::memcpy(sum.data(), from, static_cast<size_t>(count) * sizeof(float));
    return sum;
  }
  static void StoreSome(const Sum& sum, float* to, int64_t count) {
    std::memcpy(to, sum.data(), static_cast<size_t>(count) * sizeof(float));
  }
  static Sum Load(const float* from) { return LoadSome(from, kLanes); }
  static void Store(const Sum& sum, float* to) { StoreSome(sum, to, kLanes); }
  static Pairs LoadPairs(const float* from) { return Load(from); }
  static Pairs Broadcast(const float* from) {
    Pairs pairs;
    for (float& pair : pairs) std::memcpy(&pair, from, sizeof(pair));
    return pairs;
  }
  static Sum Dot(Sum sum, const Pairs& a, const Pairs& b) {
    for (size_t i = 0; i < kLanes; ++i) {
      sum[i] += High(a[i]) * High(b[i]);
      sum[i] += Low(a[i]) * Low(b[i]);
    }
    return sum;
  }
};

TEST(Bf16Product, WithoutUnitsIsTheDefinition) {
  test::ForEachTarget([] { ExpectBf16Products(MultiplyBf16Emulated); });
}

TEST(Bf16Product, InTheBlocksOfTheWidestUnitsIsTheDefinition) {
  ExpectBf16Products(Bf16Multiply<PlainOps>);
}

TEST(Bf16Product, ByWhateverThisProcessorHasIsTheDefinition) { ExpectBf16Products(MultiplyBf16); }

TEST(Bf16Product, ByUnitsIsTheDefinition) {
  if (!HasBf16Units()) GTEST_SKIP() << "this processor has no bfloat16 units";
  ExpectBf16Products(MultiplyBf16ByUnits);
}

// Of all magnitudes, with ties, infinities, NaN and numbers next to overflow among them.
std::vector<float> AnyFloats(size_t count, uint64_t seed) {
  constexpr uint32_t kSpecial[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                   0x7f800001, 0xffffffff, 0x7f7fffff, 0xff7fffff, 0x7f7f7fff,
                                   0x7f7f8000, 0x3f808000, 0x3f818000, 0x3f808001, 0x00000001,
                                   0x007fffff, 0x80008000, 0x7fffffff};
  RandomStream stream(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    const auto random = static_cast<uint32_t>(stream.NextBelow(uint64_t{1} << 32));
    value =
        std::bit_cast<float>(random % 3 == 0 ? kSpecial[random / 3 % std::size(kSpecial)] : random);
  }
  return values;
}

// By units: what is below the normal numbers is zero, and what is beyond the finite ones infinite.
float RoundedByUnits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits & 0x80000000, magnitude = bits & 0x7fffffff;
  if (magnitude < 0x00800000) return std::bit_cast<float>(sign);
  if (magnitude >= 0x7f7f8000 && magnitude <= 0x7f800000) {
    return std::bit_cast<float>(sign | 0x7f800000);
  }
  return wire::RoundToBf16(value);
}

using RoundOne = float (*)(float value);
using RoundMatrix = void (*)(const ConstMatrixView& from, const MatrixView& to);

class Bf16Rounding : public ::testing::TestWithParam<std::tuple<int, int>> {
 protected:
  void ExpectPairsInARow(RoundMatrix round_rows, RoundOne expected) const {
    const int64_t pairs = (columns_ + 1) / 2;
    ExpectPairs(round_rows, rows_, pairs, [&](int r, int p) {
      return PairBits(expected(From(r, 2 * p)), expected(From(r, 2 * p + 1)));
    });
  }
  void ExpectPairsOfRows(RoundMatrix interleave_rows, RoundOne expected) const {
    ExpectPairs(interleave_rows, (rows_ + 1) / 2, columns_, [&](int p, int c) {
      return PairBits(expected(From(2 * p, c)), expected(From(2 * p + 1, c)));
    });
  }

 private:
  static uint32_t PairBits(float low, float high) {
    return std::bit_cast<uint32_t>(low) >> 16 | std::bit_cast<uint32_t>(high);
  }

  // Element (r, c), or the zero that fills up a pair.
  float From(int r, int c) const {
    return r < rows_ && c < columns_ ? from_[static_cast<size_t>(r * (columns_ + 2) + c)] : 0.0f;
  }

  // And that nothing else is touched.
  template <typename Expected>
  void ExpectPairs(RoundMatrix round, int64_t rows, int64_t columns,
                   const Expected& expected) const {
    const int64_t stride = columns + 3;
    std::vector<float> to(static_cast<size_t>(rows * stride), 7.0f);
    round({from_.data(), rows_, columns_, columns_ + 2}, {to.data(), rows, columns, stride});
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < stride; ++c) {
        ASSERT_EQ(std::bit_cast<uint32_t>(to[static_cast<size_t>(r * stride + c)]),
                  c < columns ? expected(r, c) : std::bit_cast<uint32_t>(7.0f))
            << r << " " << c;
      }
    }
  }

  const int64_t rows_ = std::get<0>(GetParam()), columns_ = std::get<1>(GetParam());
  const std::vector<float> from_ = AnyFloats(static_cast<size_t>(rows_ * (columns_ + 2)), 1);
};

TEST_P(Bf16Rounding, WithoutUnitsIsThatOfTheWire) {
  test::ForEachTarget([&] {
    ExpectPairsInARow(RoundRowsEmulated, wire::RoundToBf16);
    ExpectPairsOfRows(InterleaveRowsEmulated, wire::RoundToBf16);
  });
}

TEST_P(Bf16Rounding, ByUnitsDiffersInTheTiniestAndTheLargest) {
  if (!Bf16UnitsRound()) GTEST_SKIP() << "this processor has no units that round";
  ExpectPairsInARow(RoundRowsByUnits, RoundedByUnits);
  ExpectPairsOfRows(InterleaveRowsByUnits, RoundedByUnits);
}

TEST_P(Bf16Rounding, ByWhateverThisProcessorHasIsOneOfTheTwo) {
  const RoundOne expected = Bf16UnitsRound() ? RoundedByUnits : wire::RoundToBf16;
  ExpectPairsInARow(RoundRows, expected);
  ExpectPairsOfRows(InterleaveRows, expected);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Bf16Rounding,
                         ::testing::Values(std::tuple(1, 1), std::tuple(2, 16), std::tuple(3, 31),
                                           std::tuple(13, 128), std::tuple(5, 129),
                                           std::tuple(64, 70), std::tuple(0, 4), std::tuple(4, 0)));

TEST(Bf16ProductDeathTest, APanelThatEndsInsideAVectorIsOurOwnMistake) {
  Bf16Case test(20, 3, 2, true, false);
  test.product.lda = 20;
  EXPECT_DEATH(MultiplyBf16(test.product), "20 vs. 32");
}

}  // namespace
}  // namespace weir::kernels::cpu
