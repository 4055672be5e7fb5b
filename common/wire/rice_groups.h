// Gaps as Rice codes in groups that have a parameter each, so that codes follow a selection that is
// dense in some rows of a weight and sparse in others.
//
// A group's parameter is told as what it differs from the one before, which takes a bit where it
// does not. On random positions these bits are lost; real gradients cluster, and there groups save
// more (docs/results/policies.md). Larger groups follow less well, smaller ones tell more
// parameters than they save.
//
// Place in the life of a batch: select -> **piece frame writer** -> push, and the answer's.
// Thread rule: pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/wire/bit_stream.h"
#include "common/wire/rice.h"

namespace weir::wire {

// Gaps of every group of a list but the last, which may have fewer.
inline constexpr size_t kRiceGroup = 16;

// Each group's parameter, up to kMaxIndexRiceParameter: the one that takes the fewest bits after
// the one before, of several the smallest. gaps: not empty, of a sum below 2^32. Returns the bits
// of the list, the changes among them and without the first parameter.
uint64_t ChooseRiceParameters(std::span<const uint32_t> gaps, std::vector<uint8_t>* parameters);

// Writes the bits that ChooseRiceParameters counted.
void WriteRiceGroups(std::span<const uint32_t> gaps, std::span<const uint8_t> parameters,
                     BitWriter* writer);

// The parameter behind one, by the number that tells their difference, a Rice code with parameter
// 0; none if it is beyond the largest or below 0.
std::optional<uint32_t> ChangeRiceParameter(uint32_t parameter, uint64_t change);

}  // namespace weir::wire
