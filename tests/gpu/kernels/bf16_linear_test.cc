// Products of factors rounded to bfloat16, by cuBLASLt and by our tiles.
#include <vector>

#include "tests/gpu/kernels/linear_layers.h"

namespace weir::gpu {
namespace {

class Bf16LinearOnACard : public testing::TestWithParam<test::CardLibrary> {
 protected:
  Bf16LinearOnACard() { test::SetCardLibrary(GetParam()); }
  ~Bf16LinearOnACard() override { test::SetCardLibrary(test::CardLibrary::kGood); }
};

INSTANTIATE_TEST_SUITE_P(Library, Bf16LinearOnACard, testing::ValuesIn(test::CardLibraries()));

constexpr int64_t kSamples = 33, kInputs = 40;

float BetweenOnes(RandomStream* random) { return static_cast<float>(2 * random->NextUnit() - 1); }

// What a layer gives, forward and back.
std::vector<float> OfALayer(const Bench& bench, const LayerShape& shape) {
  const int64_t outputs = shape.outputs;
  const PlacedMatrix dy = Outputs(bench, shape, 1, BetweenOnes);
  const PlacedMatrix x = Inputs(bench, shape, 2, BetweenOnes);
  const PlacedMatrix weight(bench, outputs, kInputs, kInputs, 3, BetweenOnes);
  const PlacedMatrix bias(bench, 1, outputs, outputs, 4), y = Outputs(bench, shape, 5);
  const PlacedMatrix dx = Inputs(bench, shape, 6), dw(bench, outputs, kInputs, kInputs, 7);
  const PlacedMatrix squares(bench, outputs, kInputs, kInputs, 8);
  const kernels::DeviceKernels& kernels = *bench.compute.kernels;
  kernels.linear_forward(bench.stream, x.view(), weight.view(), bias.vector(),
                         kernels::Activation::kNone, y.view());
  kernels.linear_backward_data(bench.stream, dy.view(), weight.view(), {}, dx.view());
  kernels.linear_backward_weight(bench.stream, dy.view(), x.view(), false, dw.view(),
                                 bias.vector());
  kernels.linear_backward_squares(bench.stream, dy.view(), x.view(), 0, squares.view());
  // The library sums what it has rounded.
  const bool is_sum_the_cpus = !shape.has_hidden_outputs;
  return is_sum_the_cpus ? ContentsOf({&y, &dx, &dw, &squares, &bias})
                         : ContentsOf({&y, &dx, &dw, &squares});
}

// Factors are rounded as the CPU rounds them, and those of thin layers are not; what is left is the
// order of some 40 additions.
TEST_P(Bf16LinearOnACard, RoundsFactorsAsTheCpuDoes) {
  for (const int64_t outputs : {20, 4, 3, 1}) {
    for (const int hidden : {0, 1, 2, 3}) {
      const LayerShape shape{.samples = kSamples,
                             .inputs = kInputs,
                             .outputs = outputs,
                             .has_hidden_inputs = (hidden & 1) != 0,
                             .has_hidden_outputs = (hidden & 2) != 0};
      SCOPED_TRACE(testing::Message() << outputs << " outputs, " << hidden);
      test::ExpectNear(kernels::Precision::kBf16, 1e-5,
                       [&](const Bench& bench) { return OfALayer(bench, shape); });
    }
  }
}

}  // namespace
}  // namespace weir::gpu
