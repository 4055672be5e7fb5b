// Products of bfloat16 numbers and what must come of them, for every way that they are made.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <tuple>
#include <vector>

#include "common/kernels/bf16_tile.h"
#include "common/wire/value_coding.h"
#include "tests/common/kernels/gradient_check.h"

namespace weir::test {

using kernels::cpu::Bf16Product;
using kernels::cpu::kBf16Lanes;

inline float Low(float pair) { return std::bit_cast<float>(std::bit_cast<uint32_t>(pair) << 16); }
inline float High(float pair) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(pair) & 0xffff0000);
}

// A product of random numbers, and what must come of it.
struct Bf16Case {
  Bf16Case(int64_t m, int64_t n, int64_t pairs, bool pairs_lie_together, float keep) {
    const int64_t lda = (m + kBf16Lanes - 1) / kBf16Lanes * kBf16Lanes + kBf16Lanes;
    a = RandomFloats(static_cast<size_t>(lda * pairs), 1);
    b = RandomFloats(static_cast<size_t>((n + 3) * (pairs + 3)), 2);
    c = RandomFloats(static_cast<size_t>((m + 5) * n), 3);
    product = {.m = m,
               .n = n,
               .pairs = pairs,
               .a = a.data(),
               .lda = lda,
               .b = b.data(),
               .pair_stride = pairs_lie_together ? 1 : n + 3,
               .column_stride = pairs_lie_together ? pairs + 3 : 1,
               .c = c.data(),
               .ldc = m + 5,
               .keep = keep};
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < product.ldc; ++i) expected.push_back(Expected(i, j));
    }
  }

  double Expected(int64_t i, int64_t j) const {
    const double was = c[static_cast<size_t>(j * product.ldc + i)];
    double sum = i < product.m ? was * static_cast<double>(product.keep) : was;
    for (int64_t p = 0; p < product.pairs && i < product.m; ++p) {
      const float x = a[static_cast<size_t>(p * product.lda + i)];
      const float y = b[static_cast<size_t>(p * product.pair_stride + j * product.column_stride)];
      sum += double(Low(x)) * Low(y) + double(High(x)) * High(y);
    }
    return sum;
  }

  // Random bits in the lower halves are bfloat16 numbers of any size: those that are not near 1 are
  // replaced, so that one bound fits all.
  static std::vector<float> RandomFloats(size_t count, uint64_t seed) {
    std::vector<float> values = test::RandomFloats(count, seed), low = test::RandomFloats(count, 9);
    for (size_t i = 0; i < count; ++i) {
      const auto half = std::bit_cast<uint32_t>(wire::RoundToBf16(low[i])) >> 16;
      const auto bits = std::bit_cast<uint32_t>(wire::RoundToBf16(values[i])) | half;
      values[i] = std::bit_cast<float>(bits);
    }
    return values;
  }

  std::vector<float> a, b, c;
  Bf16Product product;
  std::vector<double> expected;
};

template <typename Multiply>
void ExpectBf16Products(const Multiply& multiply) {
  for (const auto& [m, n, pairs] : {std::tuple(1, 1, 1),
                                    {64, 6, 3},
                                    {65, 7, 2},
                                    {128, 12, 64},
                                    {16, 5, 1},
                                    {15, 4, 7},
                                    {17, 3, 5},
                                    {47, 2, 9},
                                    {50, 11, 13},
                                    {3, 9, 4},
                                    {130, 1, 6},
                                    {100, 70, 40},
                                    {32, 32, 32},
                                    {33, 16, 17},
                                    {33, 6, 0},
                                    {0, 3, 2},
                                    {5, 0, 2}}) {
    for (const bool together : {false, true}) {
      for (const float keep : {0.0f, 1.0f, 0.75f}) {
        SCOPED_TRACE(::testing::Message() << m << " " << n << " " << pairs << " " << together);
        Bf16Case test(m, n, pairs, together, keep);
        multiply(test.product);
        for (size_t i = 0; i < test.c.size(); ++i) {
          ASSERT_NEAR(test.c[i], test.expected[i], 2e-5) << i;
        }
      }
    }
  }
}

}  // namespace weir::test
