// Products of factors rounded to bfloat16, by cuBLASLt and by our tiles.
#include <vector>

#include "tests/gpu/kernels/operations.h"

namespace weir::gpu {
namespace {

using test::Bench;
using test::PlacedMatrix;

class Bf16LinearOnACard : public testing::TestWithParam<test::CardLibrary> {
 protected:
  Bf16LinearOnACard() { test::SetCardLibrary(GetParam()); }
  ~Bf16LinearOnACard() override { test::SetCardLibrary(test::CardLibrary::kGood); }
};

INSTANTIATE_TEST_SUITE_P(Library, Bf16LinearOnACard, testing::ValuesIn(test::CardLibraries()));

constexpr int64_t kSamples = 33, kInputs = 40;

float BetweenOnes(RandomStream* random) { return static_cast<float>(2 * random->NextUnit() - 1); }

// What a layer of so many outputs gives, forward and back.
std::vector<float> OfALayer(const Bench& bench, int64_t outputs) {
  const int64_t stride = kernels::PaddedStride(kSamples);
  const PlacedMatrix dy(bench, outputs, kSamples, stride, 1, BetweenOnes);
  const PlacedMatrix x(bench, kInputs, kSamples, stride, 2, BetweenOnes);
  const PlacedMatrix weight(bench, outputs, kInputs, kInputs, 3, BetweenOnes);
  const PlacedMatrix bias(bench, 1, outputs, outputs, 4), y(bench, outputs, kSamples, stride, 5);
  const PlacedMatrix dx(bench, kInputs, kSamples, stride, 6);
  const PlacedMatrix dw(bench, outputs, kInputs, kInputs, 7);
  const PlacedMatrix squares(bench, outputs, kInputs, kInputs, 8);
  const kernels::DeviceKernels& kernels = *bench.compute.kernels;
  kernels.linear_forward(bench.stream, x.view(), weight.view(), bias.vector(),
                         kernels::Activation::kNone, y.view());
  kernels.linear_backward_data(bench.stream, dy.view(), weight.view(), {}, dx.view());
  kernels.linear_backward_weight(bench.stream, dy.view(), x.view(), false, dw.view(),
                                 bias.vector());
  kernels.linear_backward_squares(bench.stream, dy.view(), x.view(), 0, squares.view());
  std::vector<float> all;
  for (const PlacedMatrix* const matrix : {&y, &dx, &dw, &squares, &bias}) {
    for (const float value : matrix->Contents()) all.push_back(value);
  }
  return all;
}

// Factors are rounded as the CPU rounds them, and those of thin layers are not; what is left is the
// order of some 40 additions.
TEST_P(Bf16LinearOnACard, RoundsFactorsAsTheCpuDoes) {
  for (const int64_t outputs : {20, 4, 3, 1}) {
    SCOPED_TRACE(outputs);
    test::ExpectNear(kernels::Precision::kBf16, 1e-5,
                     [&](const Bench& bench) { return OfALayer(bench, outputs); });
  }
}

}  // namespace
}  // namespace weir::gpu
