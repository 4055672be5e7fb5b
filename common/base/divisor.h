// Division of 32-bit numbers by one that is not known when compiling, without the divide
// instruction: one or two multiplications instead of some twenty cycles. Exact for every dividend
// and divisor (Lemire, Kaser, Kurz 2019, "Faster remainder by direct computation").
//
// Thread rule: values.
#pragma once

#include <cstdint>

#include "common/base/check.h"

namespace weir {

class Divisor {
 public:
  // divisor >= 1.
  explicit Divisor(uint32_t divisor) : divisor_(divisor), inverse_(Inverse(divisor)) {}

  uint32_t Quotient(uint32_t dividend) const {
    // The inverse of 1 would be 2^64.
    return divisor_ == 1 ? dividend : HighProduct(inverse_, dividend);
  }
  uint32_t Remainder(uint32_t dividend) const { return HighProduct(inverse_ * dividend, divisor_); }

 private:
  static uint64_t Inverse(uint32_t divisor) {
    CHECK_GT(divisor, 0u);
    return UINT64_MAX / divisor + 1;
  }
  static uint32_t HighProduct(uint64_t a, uint32_t b) {
    return static_cast<uint32_t>((static_cast<unsigned __int128>(a) * b) >> 64);
  }

  uint32_t divisor_;
  uint64_t inverse_;  // 2^64 / divisor, rounded up
};

}  // namespace weir
