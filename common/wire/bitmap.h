// The selected elements of one stripe as a bitmap: one bit an element, whole bytes, unused bits 0.
//
// Thread rule: pure functions, any thread.
#pragma once

#include <cstdint>
#include <span>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace weir::wire {

inline size_t BitmapBytes(uint32_t stripe_elements) { return (stripe_elements + 7) / 8; }

// Appends BitmapBytes(stripe_elements). indexes: strictly increasing, below stripe_elements, which
// is 1..kMaxStripeElements.
void AppendBitmap(std::span<const uint16_t> indexes, uint32_t stripe_elements, Bytes* out);

// Fills indexes from BitmapBytes(stripe_elements) bytes. InvalidData unless they have as many ones
// as indexes are asked for, all of them below stripe_elements.
Status DecodeBitmap(ByteSpan bytes, uint32_t stripe_elements, std::span<uint16_t> indexes);

}  // namespace weir::wire
