// An operation of a kernel table on any device: its operands are put there, and what it makes of
// them comes back. So one list of operations tests every device, the CPU's table being the measure.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/device/cpu_device.h"
#include "common/kernels/compute.h"
#include "gpu/cuda.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/kernels/bench.h"

namespace weir::test {

inline constexpr size_t kMemoryBytes = size_t{64} << 20;

using Operation = std::function<std::vector<float>(const Bench&)>;

// Calls use(bench) for two orders of the card's threads.
template <typename Use>
void OnCard(kernels::Precision precision, const Use& use) {
  for (const uint64_t seed : CardOrders()) {
    SCOPED_TRACE(::testing::Message() << "order " << seed);
    SetCardOrder(seed);
    const auto card = OpenCard(kMemoryBytes);
    if (card == nullptr) GTEST_SKIP() << CardFailure();
    const kernels::Compute compute = gpu::CudaCompute(*card, precision, 1 << 20);
    const auto stream = card->MakeStream();
    use(Bench{compute, *stream});
  }
}
template <typename Use>
void OnCard(const Use& use) {
  OnCard(kernels::Precision::kF32, use);
}

// Calls compare(of the CPU, of the card) for two orders of the card's threads.
template <typename Compare>
void OnBoth(kernels::Precision precision, const Operation& operation, const Compare& compare) {
  const kernels::Compute cpu = kernels::CpuCompute(precision);
  const std::vector<float> expected = operation({cpu, device::CpuStream()});
  OnCard(precision, [&](const Bench& bench) { compare(expected, operation(bench)); });
}

// To the bit, NaN being NaN.
inline void ExpectSame(const Operation& operation) {
  OnBoth(kernels::Precision::kF32, operation,
         [](const std::vector<float>& expected, const std::vector<float>& got) {
           ASSERT_EQ(got.size(), expected.size());
           for (size_t i = 0; i < got.size(); ++i) {
             if (expected[i] != expected[i]) {
               ASSERT_NE(got[i], got[i]) << i;
             } else {
               ASSERT_EQ(got[i], expected[i]) << i;
             }
           }
         });
}

inline void ExpectNear(kernels::Precision precision, double bound, const Operation& operation) {
  OnBoth(precision, operation,
         [&](const std::vector<float>& expected, const std::vector<float>& got) {
           ASSERT_EQ(got.size(), expected.size());
           for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], bound) << i;
         });
}

}  // namespace weir::test
