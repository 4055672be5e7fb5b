// A linear layer on a bench, forward and back.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "tests/gpu/kernels/operations.h"

namespace weir::gpu {

using test::Bench;
using test::PlacedMatrix;

// shift: of all operands, which are aligned for a float alone if it is odd. What is hidden lies
// turned where the device has it so.
struct LayerShape {
  int64_t samples, inputs, outputs;
  size_t shift = 0;
  bool has_hidden_inputs = false, has_hidden_outputs = false;
};

class LayerMatrix : public PlacedMatrix {
 public:
  LayerMatrix(const Bench& bench, const LayerShape& shape, int64_t rows, int64_t columns,
              int64_t stride, uint64_t seed, float (*draw)(RandomStream*) = test::RandomEighth)
      : PlacedMatrix(bench, rows, columns, stride, seed, draw, shape.shift) {}
};

inline int64_t Stride(const LayerShape& shape) { return kernels::PaddedStride(shape.samples); }

// Of so many features of each sample.
inline PlacedMatrix Activations(const Bench& bench, const LayerShape& shape, int64_t features,
                                bool is_hidden, uint64_t seed,
                                float (*draw)(RandomStream*) = test::RandomEighth) {
  if (is_hidden && bench.compute.turns_hidden) {
    return PlacedMatrix::Turned(bench, features, shape.samples, seed, draw, shape.shift);
  }
  return {bench, features, shape.samples, Stride(shape), seed, draw, shape.shift};
}
inline PlacedMatrix Inputs(const Bench& bench, const LayerShape& shape, uint64_t seed,
                           float (*draw)(RandomStream*) = test::RandomEighth) {
  return Activations(bench, shape, shape.inputs, shape.has_hidden_inputs, seed, draw);
}
inline PlacedMatrix Outputs(const Bench& bench, const LayerShape& shape, uint64_t seed,
                            float (*draw)(RandomStream*) = test::RandomEighth) {
  return Activations(bench, shape, shape.outputs, shape.has_hidden_outputs, seed, draw);
}

inline std::vector<float> ContentsOf(std::initializer_list<const PlacedMatrix*> matrices) {
  std::vector<float> all;
  for (const PlacedMatrix* const matrix : matrices) {
    for (const float value : matrix->Contents()) all.push_back(value);
  }
  return all;
}

inline std::vector<float> Forward(const Bench& bench, const LayerShape& shape,
                                  kernels::Activation activation, float (*draw)(RandomStream*)) {
  const PlacedMatrix x = Inputs(bench, shape, 1, draw);
  const LayerMatrix weight(bench, shape, shape.outputs, shape.inputs, shape.inputs, 2, draw);
  const LayerMatrix bias(bench, shape, 1, shape.outputs, shape.outputs, 3, draw);
  const PlacedMatrix y = Outputs(bench, shape, 4);
  bench.compute.kernels->linear_forward(bench.stream, x.view(), weight.view(), bias.vector(),
                                        activation, y.view());
  return y.Contents();
}

inline float ReluResult(RandomStream* random) { return std::max(0.0f, test::RandomEighth(random)); }

// The gradients of weight, bias and input, which was a ReLU's result.
inline std::vector<float> Backward(const Bench& bench, const LayerShape& shape, bool accumulate) {
  const PlacedMatrix dy = Outputs(bench, shape, 1), x = Inputs(bench, shape, 2, ReluResult);
  const LayerMatrix weight(bench, shape, shape.outputs, shape.inputs, shape.inputs, 5);
  const LayerMatrix dw(bench, shape, shape.outputs, shape.inputs, shape.inputs, 3);
  const PlacedMatrix dx = Inputs(bench, shape, 6);
  const LayerMatrix bias(bench, shape, 1, shape.outputs, shape.outputs, 4);
  const kernels::DeviceKernels& kernels = *bench.compute.kernels;
  kernels.linear_backward_weight(bench.stream, dy.view(), x.view(), accumulate, dw.view(),
                                 bias.vector());
  kernels.linear_backward_data(bench.stream, dy.view(), weight.view(), x.view(), dx.view());
  return ContentsOf({&dw, &bias, &dx});
}

}  // namespace weir::gpu
