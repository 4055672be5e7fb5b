// What the files of the update rules share: a factory each, for the table in update_rule.cc, the
// loop over a batch of rows and Adagrad's divisor. Everybody else calls MakeUpdateRule
// (update_rule.h).
//
// Thread rule: pure functions, any thread.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>

#include "common/store/update_rule.h"

namespace weir::store {

std::unique_ptr<const UpdateRule> MakeSgd(const v1::UpdateRule& config);
std::unique_ptr<const UpdateRule> MakeAdagrad(const v1::UpdateRule& config);
std::unique_ptr<const UpdateRule> MakeRowwiseAdagrad(const v1::UpdateRule& config);

// The dimension of a row that has code of its own: loops of whole vectors, without a remainder.
inline constexpr std::integral_constant<size_t, 16> kUsualDimension;

// Calls update(row, dimension) for each row, with the usual dimension as a constant.
template <typename Update>
inline void ForEachUpdate(std::span<const RowUpdate> updates, size_t dimension,
                          const Update& update) {
  if (dimension == kUsualDimension) {
    for (const RowUpdate& row : updates) update(row, kUsualDimension);
  } else {
    for (const RowUpdate& row : updates) update(row, dimension);
  }
}

// sqrt(sum) + epsilon. Without an epsilon the sum can be zero, either because the gradient is or
// because its square underflows; infinity then makes the step zero, where zero would make it NaN or
// infinite.
inline float AdagradDivisor(float sum, float epsilon) {
  const float divisor = std::sqrt(sum) + epsilon;
  return divisor > 0.0f ? divisor : std::numeric_limits<float>::infinity();
}

}  // namespace weir::store
