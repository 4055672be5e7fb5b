#include "common/base/divisor.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/base/random.h"

namespace weir {
namespace {

TEST(Divisor, AgreesWithTheDivideInstruction) {
  constexpr uint32_t kLast = UINT32_MAX;
  RandomStream random(1);
  std::vector<uint32_t> numbers = {1, 2, 3, 7, 1 << 16, (1u << 31) - 1, 1u << 31, kLast - 1, kLast};
  for (int i = 0; i < 500; ++i) {
    numbers.push_back(static_cast<uint32_t>(random.Next() >> (32 + random.NextBelow(31))));
    if (numbers.back() == 0) numbers.back() = 1;
  }
  for (const uint32_t divisor : numbers) {
    const Divisor by(divisor);
    for (const uint32_t number : numbers) {
      for (const uint32_t dividend : {number - 1, number, number / divisor * divisor,
                                      number / divisor * divisor + divisor - 1}) {
        ASSERT_EQ(by.Quotient(dividend), dividend / divisor) << dividend << " / " << divisor;
        ASSERT_EQ(by.Remainder(dividend), dividend % divisor) << dividend << " % " << divisor;
      }
    }
  }
}

}  // namespace
}  // namespace weir
