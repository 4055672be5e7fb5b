// Which elements of a stripe chance chooses: the same on every device.
//
// Place in the life of a batch: residual += gradient -> **select**.
// Thread rule: pure function. C++17-clean, so that a CUDA compiler can include it.
#pragma once

#include <cstdint>

#include "common/base/random.h"

namespace weir::compress {

// Of offsets below kStripeElements, as bits.
inline constexpr uint32_t kChosenWords = 4096 / 64;

WEIR_ON_DEVICE inline bool IsChosen(const uint64_t* words, uint32_t offset) {
  return (words[offset / 64] >> offset % 64 & 1) != 0;
}

// Sets bits of `size` offsets, all of them 0: so many that their mean is density times size, each
// set of as many as likely as any other (Floyd's algorithm, Bentley 1987).
WEIR_ON_DEVICE inline void ChooseOffsets(uint64_t key, double density, uint32_t size,
                                         uint64_t* words) {
  RandomStream random(key);
  const auto wanted = static_cast<uint32_t>(density * static_cast<double>(size) +
                                            random.NextUnit());  // rounded down
  const uint32_t count = wanted < size ? wanted : size;
  for (uint32_t last = size - count; last < size; ++last) {
    const auto drawn = static_cast<uint32_t>(random.NextBelow(uint64_t{last} + 1));
    const uint32_t chosen = IsChosen(words, drawn) ? last : drawn;
    words[chosen / 64] |= uint64_t{1} << chosen % 64;
  }
}

}  // namespace weir::compress
