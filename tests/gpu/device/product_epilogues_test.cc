// That products of hidden layers end by cuBLASLt's epilogues where they can: what these make of
// them is in tests/gpu/kernels/linear_test.cc.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "gpu/device/library_products.h"
#include "tests/gpu/kernels/bench.h"

namespace weir::gpu {
namespace {

using emulator::Library;
using test::PlacedMatrix;

class ProductEpiloguesTest : public testing::Test {
 protected:
  // Of the library, and launches of ours.
  struct Calls {
    uint64_t heuristics, products, epilogues, launches;
    bool operator==(const Calls&) const = default;
  };

  ProductEpiloguesTest() : card_(*CudaDevice::Open(0)), stream_(card_->MakeStream()) {}
  ~ProductEpiloguesTest() override { emulator::ResetDevice(); }

  // Forward and back, hidden layers on both sides, `skipped` floats off.
  Calls OfAHiddenLayer(size_t skipped = 0) {
    const test::Bench bench{compute_, *stream_};
    const auto turned = [&](int64_t features, uint64_t seed) {
      return PlacedMatrix::Turned(bench, features, 7, seed, test::RandomEighth, skipped);
    };
    const PlacedMatrix x = turned(5, 1), y = turned(6, 2), dx = turned(5, 3);
    const PlacedMatrix weight(bench, 6, 5, 5, 3), bias(bench, 1, 6, 6, 4), dw(bench, 6, 5, 5, 5);
    const Calls before = SoFar();
    const kernels::DeviceKernels& kernels = *compute_.kernels;
    kernels.linear_forward(*stream_, x.view(), weight.view(), bias.vector(),
                           kernels::Activation::kRelu, y.view());
    kernels.linear_backward_data(*stream_, y.view(), weight.view(), x.view(), dx.view());
    kernels.linear_backward_weight(*stream_, y.view(), x.view(), false, dw.view(), bias.vector());
    bench.Finish();
    const Calls now = SoFar();
    return {now.heuristics - before.heuristics, now.products - before.products,
            now.epilogues - before.epilogues, now.launches - before.launches};
  }

  // Of 7 samples whose gradient is `value`, added to 0 or written.
  float BiasGradientOf(float value, bool accumulate) {
    const kernels::Compute compute = CudaCompute(*card_, kernels::Precision::kBf16, 1);
    const auto stream = card_->MakeStream();
    const test::Bench bench{compute, *stream};
    const PlacedMatrix x = PlacedMatrix::Turned(bench, 5, 7, 1), dw(bench, 6, 5, 5, 2);
    const device::Buffer<float> bias(*card_, 6, "a test");
    const int64_t stride = kernels::TurnedStride(6);
    const device::Buffer<float> dy =
        bench.Put(std::vector<float>(static_cast<size_t>(7 * stride), value));
    compute.kernels->linear_backward_weight(*stream,
                                            kernels::DeviceMatrix{dy.data(), 6, 7, stride, true},
                                            x.view(), accumulate, dw.view(), {bias.data(), 6});
    return bench.Get<float>(bias.span())[5];
  }

  std::unique_ptr<CudaDevice> card_;
  std::unique_ptr<device::Stream> stream_;
  const kernels::Compute compute_ = CudaCompute(*card_, kernels::Precision::kF32, 1);

 private:
  static Calls SoFar() {
    constexpr uint64_t kEnough = 1 << 20;
    static uint64_t launches = 0;
    if (emulator::faults().good_launches <= kEnough) {
      launches += kEnough - emulator::faults().good_launches;
    }
    emulator::faults().good_launches = kEnough;
    const emulator::LibraryCalls& calls = emulator::TheLibraryCalls();
    return {calls.heuristics, calls.products, calls.epilogues, launches};
  }
};

// Bias and ReLU, the ReLU's gradient and the bias's: one call each, and nothing of ours.
TEST_F(ProductEpiloguesTest, HiddenLayersEndByThem) {
  EXPECT_EQ(OfAHiddenLayer(), (Calls{3, 3, 3, 0}));
  EXPECT_EQ(OfAHiddenLayer(), (Calls{0, 3, 3, 0}));
}

TEST_F(ProductEpiloguesTest, WhatTheLibraryDoesNotEndIsAskedOnceAndOurs) {
  emulator::faults().cublas_lt = Library::kEndsNothing;
  EXPECT_EQ(OfAHiddenLayer(), (Calls{6, 3, 0, 3}));
  EXPECT_EQ(OfAHiddenLayer(), (Calls{0, 3, 0, 3}));
}

TEST_F(ProductEpiloguesTest, ItMaySayThatWhenAProductIsEnqueued) {
  emulator::faults().cublas_lt = Library::kEndsNothingLate;
  EXPECT_EQ(OfAHiddenLayer(), (Calls{6, 3, 0, 3}));
  EXPECT_EQ(OfAHiddenLayer(), (Calls{0, 3, 0, 3}));
}

// Of a turned gradient it sums what it has rounded; where the product adds, a kernel of ours sums.
TEST_F(ProductEpiloguesTest, InBfloat16ItSumsWhatIsMultiplied) {
  constexpr float kJustAboveOne = 1 + 0x1p-10f;
  EXPECT_EQ(BiasGradientOf(kJustAboveOne, false), 7.0f);
  EXPECT_EQ(BiasGradientOf(kJustAboveOne, true), 7 * kJustAboveOne);
  emulator::faults().cublas_lt = Library::kEndsNothing;
  EXPECT_EQ(BiasGradientOf(kJustAboveOne, false), 7 * kJustAboveOne);
}

// Signs that do not lie at whole vectors it could not read.
TEST_F(ProductEpiloguesTest, SignsAtAnyAddressAreOurs) {
  EXPECT_EQ(OfAHiddenLayer(1), (Calls{3, 3, 1, 2}));
}

}  // namespace
}  // namespace weir::gpu
