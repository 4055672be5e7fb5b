#include "tools/bench/card_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::bench {
namespace {

// As docs/internals/gpu_floors.md has them, which another program computes.
TEST(StepKernels, TheirFloorsAreThePages) {
  const std::vector<CardKernel> kernels = StepKernels(16'384);
  for (const auto& [name, floor_us] : {std::pair("transpose", 0.6),
                                       {"pool_tables", 18.7},
                                       {"linear_forward", 84.8},
                                       {"interaction_forward", 17.5},
                                       {"loss", 0.1},
                                       {"linear_backward_data", 73.4},
                                       {"linear_backward_weight", 84.8},
                                       {"interaction_backward", 34.9},
                                       {"scatter_tables", 27.8}}) {
    const auto kernel = std::ranges::find(kernels, name, &CardKernel::name);
    ASSERT_NE(kernel, kernels.end()) << name;
    EXPECT_NEAR(kernel->FloorSeconds() * 1e6, floor_us, 0.051) << name;
  }
}

}  // namespace
}  // namespace weir::bench
