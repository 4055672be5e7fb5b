// How the selected elements of a piece are named on the wire: dense (all of a stripe), one bit for
// each element of a stripe, or Rice codes of the gaps, over as many stripes as follow each other.
//
// Thread rule: constants.
#pragma once

#include <cstdint>

namespace weir::wire {

// Elements of every stripe of a piece but the last, which may have fewer.
inline constexpr uint32_t kMaxStripeElements = 4096;

// Gaps that would want a larger one are beyond 65536 elements, and so few that their bits are too.
inline constexpr uint32_t kMaxIndexRiceParameter = 15;

enum class IndexCoding : uint8_t {
  kDense = 0,   // every element of the stripe is selected; no bits
  kBitmap = 1,  // one bit an element of the stripe
  kRice = 2,    // Rice codes of the gaps
};

}  // namespace weir::wire
