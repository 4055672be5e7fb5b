// Update rules as a card takes them, and the numbers that they are tried on.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "common/kernels/update_steps.h"
#include "tests/gpu/kernels/operations.h"

namespace weir::gpu {

using kernels::UpdateStep;
using test::Bench;
using test::OnCard;

constexpr size_t kRows = 20, kDimension = 5;

inline std::vector<float> DrawOperand(size_t count, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.NextNormal());
  return values;
}

struct RuleCase {
  UpdateStep step;
  size_t moments;
};

inline UpdateStep Penalised(UpdateStep step, const kernels::L2Penalty& penalty) {
  step.penalty = penalty;
  return step;
}

inline const std::vector<RuleCase>& Rules() {
  static const std::vector<RuleCase> rules = {
      {kernels::SgdStep{0.1f, 0.01f}, 0},
      {kernels::AdagradStep{0.1f, 0, 1e-6f}, 1},
      {kernels::MomentumStep{0.9f, 0.1f, 0.05f, 0}, 1},
      {kernels::AdamStep{0.9f, 0.1f, 0.99f, 0.01f, 0.1f, 1.5f, 1e-6f, 0}, 2},
      {Penalised(kernels::AdagradStep{0.1f, 0, 1e-6f}, {0.25f, 0}), 1},
      {Penalised(kernels::MomentumStep{0.9f, 0.1f, 0, 0}, {0.25f, 0.25f}), 1}};
  return rules;
}

// Not to the bit: a card may fuse a product and a sum.
inline void ExpectClose(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-6f) << i;
}

}  // namespace weir::gpu
