#include "common/compress/rank_ask.h"

#include <algorithm>

#include "common/compress/kept_count.h"
#include "common/compress/kth_largest.h"

namespace weir::compress {

std::optional<float> RankedOf(std::span<float> magnitudes, const RankAsk& ask) {
  // NaNs are left out: they have no order, and one might become the threshold.
  int64_t count = 0;
  float* end = magnitudes.data();
  for (const float magnitude : magnitudes) {
    *end = magnitude;  // stays if it is a number and not zero
    end += static_cast<ptrdiff_t>(magnitude > 0);
    count += static_cast<int64_t>(magnitude >= 0);
  }
  const std::span<float> nonzero(magnitudes.data(), end);
  if (nonzero.empty()) return std::nullopt;
  const int64_t wanted = ask.rank > 0 ? ask.rank : KeptCount(count, ask.sparsity) + ask.more;
  const auto k = static_cast<size_t>(std::min(wanted, std::ssize(nonzero)));
  if (!ask.sorts) return KthLargest(nonzero, k);
  std::ranges::sort(nonzero);
  return nonzero[nonzero.size() - k];
}

}  // namespace weir::compress
