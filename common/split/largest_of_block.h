// The largest magnitudes of a block of many samples, whichever samples they are of.
//
// Place in the life of a batch: backward -> **select** -> the stage before.
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "common/kernels/views.h"

namespace weir::split {

// In the order of their positions, feature * samples + sample. Kept and used again.
struct LargestOfBlock {
  std::vector<uint32_t> positions;
  std::vector<float> values;
  std::vector<uint32_t> magnitudes;  // bits, to find the least that is kept
};

// The `keep` largest magnitudes and what equals the least of them, never zeros. NaN is larger than
// everything. x: [features, samples], fewer than 2^31 elements. keep >= 1.
void ChooseLargestOfBlock(const kernels::ConstMatrixView& x, int64_t keep, LargestOfBlock* chosen);

}  // namespace weir::split
