// What the files of the update rules share: a factory each, for the table in update_rule.cc, and
// Adagrad's divisor. Everybody else calls MakeUpdateRule (update_rule.h).
//
// Thread rule: pure functions, any thread.
#pragma once

#include <cmath>
#include <limits>
#include <memory>

#include "common/store/update_rule.h"

namespace weir::store {

std::unique_ptr<const UpdateRule> MakeSgd(const v1::UpdateRule& config);
std::unique_ptr<const UpdateRule> MakeAdagrad(const v1::UpdateRule& config);
std::unique_ptr<const UpdateRule> MakeRowwiseAdagrad(const v1::UpdateRule& config);

// sqrt(sum) + epsilon. Without an epsilon the sum can be zero, either because the gradient is or
// because its square underflows; infinity then makes the step zero, where zero would make it NaN or
// infinite.
inline float AdagradDivisor(float sum, float epsilon) {
  const float divisor = std::sqrt(sum) + epsilon;
  return divisor > 0.0f ? divisor : std::numeric_limits<float>::infinity();
}

}  // namespace weir::store
