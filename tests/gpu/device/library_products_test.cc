// That products are cuBLASLt's where they can be: what it makes of them is in
// tests/gpu/kernels/linear_test.cc.
#include "gpu/device/library_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/kernels/bench.h"

namespace weir::gpu {
namespace {

using emulator::Library;
using kernels::Precision;
using test::PlacedMatrix;
using ::testing::HasSubstr;

class LibraryProductsTest : public testing::Test {
 protected:
  struct Calls {
    uint64_t heuristics, products;
    bool operator==(const Calls&) const = default;
  };

  explicit LibraryProductsTest(size_t memory_bytes = 0)
      : card_(*CudaDevice::Open(0, memory_bytes)), stream_(card_->MakeStream()) {}
  ~LibraryProductsTest() override { emulator::ResetDevice(); }

  const kernels::DeviceKernels& KernelsOf(Precision precision) {
    compute_ = CudaCompute(*card_, precision, 1);
    return *compute_.kernels;
  }

  // dx of so many rows and samples, over `outputs` terms. Matrices are `skipped` floats off.
  std::vector<float> Data(Precision precision, int64_t inputs, int64_t outputs,
                          int64_t skipped = 0) {
    const kernels::DeviceKernels& kernels = KernelsOf(precision);
    const test::Bench bench{compute_, *stream_};
    const auto off = [&](const PlacedMatrix& matrix) {
      kernels::DeviceMatrix view = matrix.view();
      view.data = view.data + skipped;
      view.column_count -= skipped;
      return view;
    };
    const PlacedMatrix dy(bench, outputs, 7, 16, 1), dx(bench, inputs, 7, 16, 2);
    const PlacedMatrix weight(bench, outputs, inputs + skipped, inputs + skipped, 3);
    kernels.linear_backward_data(*stream_, off(dy), off(weight), {}, off(dx));
    return dx.Contents();
  }

  uint64_t LaunchesOfBackwardWeight(Precision precision, int64_t outputs) {
    const kernels::DeviceKernels& kernels = KernelsOf(precision);
    const test::Bench bench{compute_, *stream_};
    const PlacedMatrix dy(bench, outputs, 7, 16, 1), x(bench, 5, 7, 16, 2);
    const PlacedMatrix dw(bench, outputs, 5, 5, 3), bias(bench, 1, outputs, outputs, 4);
    constexpr uint64_t kEnough = 1000;
    emulator::faults().good_launches = kEnough;
    kernels.linear_backward_weight(*stream_, dy.view(), x.view(), false, dw.view(), bias.vector());
    bench.Finish();
    return kEnough - emulator::faults().good_launches;
  }

  // What it has been asked since the last time.
  Calls Asked() {
    const Calls now{emulator::TheLibraryCalls().heuristics, emulator::TheLibraryCalls().products};
    const Calls asked{now.heuristics - before_.heuristics, now.products - before_.products};
    before_ = now;
    return asked;
  }

  std::unique_ptr<CudaDevice> card_;
  std::unique_ptr<device::Stream> stream_;
  kernels::Compute compute_;
  Calls before_{emulator::TheLibraryCalls().heuristics, emulator::TheLibraryCalls().products};
};

TEST_F(LibraryProductsTest, AShapeIsLookedForOnce) {
  for (const auto precision : {Precision::kF32, Precision::kBf16, Precision::kTf32}) {
    Data(precision, 5, 6);
    EXPECT_EQ(Asked(), (Calls{1, 1}));
    Data(precision, 5, 6);
    EXPECT_EQ(Asked(), (Calls{0, 1}));
    Data(precision, 5, 7);
    EXPECT_EQ(Asked(), (Calls{1, 1}));
  }
}

TEST_F(LibraryProductsTest, WhatItDoesNotTakeIsAskedOnceAndIsForTiles) {
  const std::vector<float> expected = Data(Precision::kF32, 5, 3);
  stream_ = card_->MakeStream();
  Asked();
  emulator::faults().cublas_lt = Library::kTakesNothing;
  EXPECT_EQ(Data(Precision::kF32, 5, 3), expected);
  EXPECT_EQ(Data(Precision::kF32, 5, 3), expected);
  EXPECT_EQ(Asked(), (Calls{1, 0}));
}

// The bias's gradient is summed where dy is rounded anyway.
TEST_F(LibraryProductsTest, WhatIsRoundedIsSummedOnTheWay) {
  EXPECT_EQ(LaunchesOfBackwardWeight(Precision::kBf16, 6), 2U);  // dy and its sums; x
  EXPECT_EQ(LaunchesOfBackwardWeight(Precision::kBf16, 3), 1U);  // thin: the sums
  EXPECT_EQ(LaunchesOfBackwardWeight(Precision::kF32, 6), 1U);
  EXPECT_EQ(Asked().products, 3U);
}

TEST_F(LibraryProductsTest, AProductOfNothingIsForTiles) {
  Data(Precision::kF32, 5, 0);
  EXPECT_EQ(Asked(), (Calls{0, 0}));
}

// Weights lie where the layer before them ends.
TEST_F(LibraryProductsTest, ItIsToldHowAddressesAreAligned) {
  for (const auto precision : {Precision::kF32, Precision::kBf16}) {
    for (const int64_t skipped : {1, 2, 4}) {
      const std::vector<float> got = Data(precision, 5, 6, skipped);
      EXPECT_EQ(Asked().products, 1U);
      stream_ = card_->MakeStream();
      emulator::faults().cublas_lt = Library::kAbsent;
      EXPECT_EQ(Data(precision, 5, 6, skipped), got);
      EXPECT_EQ(Asked(), (Calls{0, 0}));
      stream_ = card_->MakeStream();
      emulator::faults().cublas_lt = Library::kGood;
    }
  }
}

// A trainer on rows of any number does not keep plans without end.
TEST_F(LibraryProductsTest, OnlySoManyPlansAreKept) {
  for (int64_t outputs = 1; outputs <= 513; ++outputs) Data(Precision::kF32, 1, outputs);
  EXPECT_EQ(Asked(), (Calls{513, 513}));
  Data(Precision::kF32, 1, 513);
  EXPECT_EQ(Asked(), (Calls{0, 1}));
  Data(Precision::kF32, 1, 1);
  EXPECT_EQ(Asked(), (Calls{1, 1}));
}

TEST_F(LibraryProductsTest, WhatFailsIsNamedAndStaysTheStreamsError) {
  emulator::faults().cublas_lt = Library::kFails;
  const kernels::DeviceKernels& kernels = KernelsOf(Precision::kF32);
  const device::Buffer<float> one(*card_, 1, "a test");
  const kernels::DeviceMatrix matrix = kernels::Dense(one.data(), 1, 1);
  kernels.linear_forward(*stream_, matrix, matrix, kernels::DeviceVector{one.data(), 1},
                         kernels::Activation::kNone, matrix);
  const Status failed = stream_->Synchronize();
  EXPECT_EQ(failed.code(), StatusCode::kInternal);
  EXPECT_EQ(failed.message(),
            "CUDA: linear_forward: cuBLASLt: the function failed to launch on the GPU");
  kernels.linear_backward_data(*stream_, matrix, matrix, {}, matrix);
  EXPECT_EQ(stream_->Synchronize().message(), failed.message());
  EXPECT_EQ(Asked().products, 0U);
}

class SmallCardTest : public LibraryProductsTest {
 protected:
  SmallCardTest() : LibraryProductsTest(16 << 10) {}
};

TEST_F(SmallCardTest, ItsWorkspaceIsAPartOfWhatIsFree) {
  Data(Precision::kF32, 5, 3);
  EXPECT_EQ(Asked(), (Calls{1, 1}));
  EXPECT_GT(card_->used_bytes(), 1U << 10);
  EXPECT_LE(card_->used_bytes(), 2U << 10);
}

TEST_F(SmallCardTest, FactorsThatCannotBeRoundedAreTheStreamsError) {
  const device::Buffer<uint8_t> all(*card_, (16 << 10) - 1024, "a test");
  const kernels::DeviceKernels& kernels = KernelsOf(Precision::kBf16);
  const kernels::DeviceMatrix square = kernels::Dense(
      device::Pointer<float>(reinterpret_cast<float*>(all.data().address())), 40, 40);
  kernels.linear_backward_data(*stream_, square, square, {}, square);
  EXPECT_EQ(stream_->Synchronize().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(stream_->Synchronize().message(), HasSubstr("for scratch"));
}

}  // namespace
}  // namespace weir::gpu
