#include "common/split/largest_of_block.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "common/base/check.h"

namespace weir::split {
namespace {

// Ordered as the magnitudes are.
uint32_t BitsOfMagnitude(float x) { return std::bit_cast<uint32_t>(x) & 0x7fffffff; }

}  // namespace

void ChooseLargestOfBlock(const kernels::ConstMatrixView& x, int64_t keep, LargestOfBlock* chosen) {
  CHECK_GE(keep, 1);
  CHECK_LT(x.row_count * x.column_count, int64_t{1} << 31);
  std::vector<uint32_t>& magnitudes = chosen->magnitudes;
  magnitudes.clear();
  for (int64_t f = 0; f < x.row_count; ++f) {
    for (int64_t s = 0; s < x.column_count; ++s) magnitudes.push_back(BitsOfMagnitude(x.row(f)[s]));
  }
  uint32_t least = 1;
  if (keep < static_cast<int64_t>(magnitudes.size())) {
    const auto last = magnitudes.begin() + (keep - 1);
    std::nth_element(magnitudes.begin(), last, magnitudes.end(), std::greater());
    least = std::max(least, *last);
  }
  chosen->positions.clear();
  chosen->values.clear();
  for (int64_t f = 0; f < x.row_count; ++f) {
    for (int64_t s = 0; s < x.column_count; ++s) {
      if (BitsOfMagnitude(x.row(f)[s]) < least) continue;
      chosen->positions.push_back(static_cast<uint32_t>(f * x.column_count + s));
      chosen->values.push_back(x.row(f)[s]);
    }
  }
}

}  // namespace weir::split
