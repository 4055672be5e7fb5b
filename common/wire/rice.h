// The size of a strictly increasing list as Rice codes of its gaps, and the parameter that makes it
// smallest. Shared by the index codings of piece frames and the id lists of row frames.
//
// The first gap is the first number; the others are the difference to the one before, less one.
// Thread rule: pure functions, any thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <type_traits>

#include "common/base/check.h"
#include "common/wire/bit_stream.h"

namespace weir::wire {

struct RiceSize {
  uint32_t parameter = 0;
  uint64_t bits = 0;

  size_t bytes() const { return static_cast<size_t>((bits + 7) / 8); }
};

// Bits of the whole list. sorted: strictly increasing, not empty.
template <typename Number>
uint64_t RiceBits(std::span<const Number> sorted, uint32_t parameter) {
  // A narrow sum keeps the loop of the narrow type in narrow vector lanes.
  using Sum = std::conditional_t<sizeof(Number) == 8, uint64_t, uint32_t>;
  Sum quotients = static_cast<Sum>(sorted[0] >> parameter);
  for (size_t i = 1; i < sorted.size(); ++i) {
    const auto gap = static_cast<Number>(sorted[i] - sorted[i - 1] - 1);
    quotients += static_cast<Sum>(gap >> parameter);
  }
  return quotients + uint64_t{sorted.size()} * (parameter + 1);
}

// The best of all parameters up to parameter_max, found from start. bits: size by parameter.
//
// Raising k by one costs a bit a number and saves ceil((gap >> k) / 2) bits a gap, which only falls
// as k grows: the size is convex in k, so walking downhill from any start ends at the minimum. Of
// several the smallest is taken, wherever the walk began.
template <typename BitsOf>
RiceSize BestRiceFrom(uint32_t start, uint32_t parameter_max, const BitsOf& bits_of) {
  RiceSize best = {start, bits_of(start)};
  while (best.parameter < parameter_max) {
    const uint64_t bits = bits_of(best.parameter + 1);
    if (bits >= best.bits) break;
    best = {best.parameter + 1, bits};
  }
  if (best.parameter > start) return best;
  while (best.parameter > 0) {
    const uint64_t bits = bits_of(best.parameter - 1);
    if (bits > best.bits) break;
    best = {best.parameter - 1, bits};
  }
  return best;
}

// The best of all parameters up to parameter_max. sorted: strictly increasing, not empty. The start
// is the logarithm of the mean gap; one neighbour on each side is what is usually tried.
template <typename Number>
RiceSize BestRice(std::span<const Number> sorted, uint32_t parameter_max) {
  DCHECK(!sorted.empty());
  const uint64_t mean_gap = (uint64_t{sorted.back()} - (sorted.size() - 1)) / sorted.size();
  const auto log = static_cast<uint32_t>(std::bit_width(mean_gap | 1)) - 1;
  return BestRiceFrom(std::min(log, parameter_max), parameter_max,
                      [&](uint32_t parameter) { return RiceBits(sorted, parameter); });
}

// Writes RiceBits(sorted, parameter) bits.
template <typename Number>
void WriteRiceGaps(std::span<const Number> sorted, uint32_t parameter, BitWriter* writer) {
  uint64_t lowest = 0;  // the smallest number that may come next
  for (const Number number : sorted) {
    writer->WriteRice(number - lowest, parameter);
    lowest = uint64_t{number} + 1;
  }
}

}  // namespace weir::wire
