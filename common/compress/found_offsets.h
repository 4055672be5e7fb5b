// What a device found in parts of ranges (device_range_parts.h), as the host has it.
//
// Place in the life of a batch: residual += gradient -> **select** -> propose.
// Thread rule: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::compress {

// Part after part, by offsets in the part, ascending.
struct FoundOffsets {
  std::vector<uint32_t> ends;
  std::vector<uint16_t> offsets;

  std::span<const uint16_t> Of(size_t part) const {
    const size_t begin = part == 0 ? 0 : ends[part - 1];
    return std::span(offsets).subspan(begin, ends[part] - begin);
  }
};

// Of what was found in a part those above a magnitude, and of the others, which just reach it, the
// first so many; how many are left to those that follow.
inline std::vector<uint16_t> WithFirstTies(std::span<const uint16_t> found,
                                           std::span<const uint16_t> above, uint32_t* ties) {
  std::vector<uint16_t> kept;
  auto next = above.begin();
  for (const uint16_t offset : found) {
    if (next != above.end() && *next == offset) {
      ++next;
    } else if (*ties == 0) {
      continue;
    } else {
      --*ties;
    }
    kept.push_back(offset);
  }
  return kept;
}

}  // namespace weir::compress
