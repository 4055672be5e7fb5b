#include "tools/bench/card_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace weir::bench {
namespace {

void ExpectFloors(const std::vector<CardKernel>& kernels,
                  const std::vector<std::pair<const char*, double>>& floors) {
  for (const auto& [name, floor_us] : floors) {
    const auto kernel = std::ranges::find(kernels, name, &CardKernel::name);
    ASSERT_NE(kernel, kernels.end()) << name;
    EXPECT_NEAR(kernel->FloorSeconds() * 1e6, floor_us, 0.051) << name;
  }
}

// As docs/internals/gpu_floors.md has them, which another program computes.
TEST(StepKernels, TheirFloorsAreThePages) {
  ExpectFloors(StepKernels(16'384), {{"transpose", 0.6},
                                     {"pool_tables", 18.7},
                                     {"linear_forward", 84.8},
                                     {"interaction_forward", 17.5},
                                     {"loss", 0.1},
                                     {"note_not_finite", 1.4},
                                     {"linear_backward_data", 73.4},
                                     {"linear_backward_weight", 84.8},
                                     {"interaction_backward", 34.9},
                                     {"scatter_tables", 27.8}});
}

TEST(UpdateKernels, TheirFloorsAreThePages) {
  ExpectFloors(UpdateKernels(16'384),
               {{"read_rows", 18.7}, {"update_rows", 28.0}, {"update_dense", 2.0}});
}

}  // namespace
}  // namespace weir::bench
