// Whether received gradients are numbers: one that is not would stay in the parameters for good.
//
// Place in the life of a batch: push -> **checked** -> apply.
// Thread rule: pure; any thread.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace weir::server {

// False with a NaN or an infinity among them. Without a way out of the loop, so that it is
// vectorised: an exponent of all ones adds a carry into the sign.
inline bool AllFinite(std::span<const float> values) {
  constexpr uint32_t kMagnitude = 0x7fffffff, kLowestExponentBit = 0x00800000;
  uint32_t carries = 0;
  for (const float value : values) {
    carries |= (std::bit_cast<uint32_t>(value) & kMagnitude) + kLowestExponentBit;
  }
  return carries >> 31 == 0;
}

}  // namespace weir::server
