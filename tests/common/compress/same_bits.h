// What vector kernels must agree with their plain loops in.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

namespace weir::compress {

// Which NaN it is, the order of operands decides; nothing depends on it.
inline void ExpectSameBits(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(actual[i]) && std::isnan(expected[i])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(actual[i]), std::bit_cast<uint32_t>(expected[i]))
        << i << ": " << actual[i] << ", " << expected[i];
  }
}

}  // namespace weir::compress
