#include "tools/bench/gemm_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/kernels/cpu_kernels.h"
#include "worker/model/slice.h"

namespace weir::bench {
namespace {

using kernels::KernelTable;
using testing::HasSubstr;

// So small that each element of each result is among those that are looked at.
constexpr GemmShape kTiny = {.inputs = 5, .outputs = 4};
constexpr int64_t kFewSamples = 3;

GemmLayer Computed(const GemmShape& shape, int64_t batch) {
  GemmLayer layer(shape, batch);
  RunByTable(kernels::CpuKernels(), &layer);
  return layer;
}

void ExpectRefused(const GemmLayer& layer, const char* what) {
  EXPECT_THAT(VerifyByPlainSums(layer).message(), HasSubstr(what));
}

TEST(VerifyByPlainSums, AcceptsWhatTheKernelsGive) {
  for (const bool first : {false, true}) {
    for (const int64_t batch : {kFewSamples, model::kSplitRows + 2}) {
      const Status status = VerifyByPlainSums(Computed({7, 6, first}, batch));
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

TEST(VerifyByPlainSums, RefusesOneWrongElementOfAnyResult) {
  const auto shifted = [](tensor::AlignedBuffer GemmLayer::*result, size_t element, float by) {
    GemmLayer layer = Computed(kTiny, kFewSamples);
    (layer.*result)[element] += by;
    return layer;
  };
  const int64_t stride = GemmLayer(kTiny, kFewSamples).stride;
  for (const float by : {0.001f, -0.001f, std::numeric_limits<float>::quiet_NaN()}) {
    for (int64_t output = 0; output < kTiny.outputs; ++output) {
      const auto bias = static_cast<size_t>(output);
      ExpectRefused(shifted(&GemmLayer::bias_gradient, bias, by),
                    "of the bias's gradient of 5 x 4");
      for (int64_t sample = 0; sample < kFewSamples; ++sample) {
        const auto y = static_cast<size_t>(output * stride + sample);
        ExpectRefused(shifted(&GemmLayer::y, y, by), "an element of ");
      }
      for (int64_t input = 0; input < kTiny.inputs; ++input) {
        const auto dw = static_cast<size_t>(output * kTiny.inputs + input);
        ExpectRefused(shifted(&GemmLayer::dw, dw, by), "of dw of 5 x 4");
      }
    }
    for (int64_t input = 0; input < kTiny.inputs; ++input) {
      for (int64_t sample = 0; sample < kFewSamples; ++sample) {
        const auto dx = static_cast<size_t>(input * stride + sample);
        ExpectRefused(shifted(&GemmLayer::dx, dx, by), "of dx of 5 x 4");
      }
    }
  }
}

TEST(VerifyByPlainSums, RefusesASliceThatWasLeftOut) {
  constexpr int64_t kBatch = model::kSplitRows + 2;
  const GemmLayer whole = Computed(kTiny, kBatch);
  GemmLayer part(kTiny, kBatch);
  part.slices = 1;
  RunByTable(kernels::CpuKernels(), &part);
  std::ranges::copy(whole.y.span(), part.y.span().begin());
  ExpectRefused(part, "an element of dw");
  std::ranges::copy(whole.dw.span(), part.dw.span().begin());
  ExpectRefused(part, "an element of the bias's gradient");
}

// Entries that are wrong in one way each.

void ForwardWithoutRelu(const kernels::ConstMatrixView& x, const kernels::ConstMatrixView& weight,
                        const kernels::ConstVectorView& bias, kernels::Activation /*activation*/,
                        const kernels::MatrixView& y) {
  kernels::CpuKernels().linear_forward(x, weight, bias, kernels::Activation::kNone, y);
}

void NoGradientOfTheInput(const kernels::ConstMatrixView&, const kernels::ConstMatrixView&,
                          const kernels::ConstMatrixView&, const kernels::MatrixView&) {}

void GradientOfTheLastSliceAlone(const kernels::ConstMatrixView& dy,
                                 const kernels::ConstMatrixView& x, bool /*accumulate*/,
                                 const kernels::MatrixView& dw,
                                 const kernels::VectorView& bias_gradient) {
  kernels::CpuKernels().linear_backward_weight(dy, x, false, dw, bias_gradient);
}

void BiasGradientThatIsNoNumber(const kernels::ConstMatrixView& dy,
                                const kernels::ConstMatrixView& x, bool accumulate,
                                const kernels::MatrixView& dw,
                                const kernels::VectorView& bias_gradient) {
  kernels::CpuKernels().linear_backward_weight(dy, x, accumulate, dw, bias_gradient);
  bias_gradient.data[0] = std::numeric_limits<float>::quiet_NaN();
}

TEST(VerifyBf16, AcceptsTheTableForItAndTheOneOf32Bits) {
  for (const KernelTable& table : {kernels::CpuBf16Kernels(), kernels::CpuKernels()}) {
    const Status status = VerifyBf16(table, 8);
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(VerifyBf16, RefusesATableWithOneWrongEntry) {
  const auto refusal = [](auto entry, auto wrong) {
    KernelTable table = kernels::CpuBf16Kernels();
    table.*entry = wrong;
    return VerifyBf16(table, model::kSplitRows + 8).message();
  };
  EXPECT_THAT(refusal(&KernelTable::linear_forward, ForwardWithoutRelu), HasSubstr("13 x 512"));
  EXPECT_THAT(refusal(&KernelTable::linear_backward_data, NoGradientOfTheInput),
              HasSubstr("512 x 256"));
  EXPECT_THAT(refusal(&KernelTable::linear_backward_weight, GradientOfTheLastSliceAlone),
              HasSubstr("13 x 512"));
  EXPECT_THAT(refusal(&KernelTable::linear_backward_weight, BiasGradientThatIsNoNumber),
              HasSubstr("off by nan"));
}

}  // namespace
}  // namespace weir::bench
