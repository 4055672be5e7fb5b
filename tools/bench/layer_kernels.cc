// The products of a layer, as kernels to measure.

#include "tools/bench/placing.h"

namespace weir::bench {
namespace {

void PlaceForward(const GemmShape& layer, int64_t n, Placing at) {
  const auto x = at.Activations(layer.inputs, n, 1);
  const auto weight = at.Matrix(layer.outputs, layer.inputs, layer.inputs, 0.1f);
  const auto bias = at.Matrix(1, layer.outputs, layer.outputs, 0.1f);
  const auto y = at.Result(at.Activations(layer.outputs, n));
  at.Do([=] {
    at.kernels().linear_forward(at.stream(), x, weight, {bias.data, layer.outputs},
                                kernels::Activation::kRelu, y);
  });
}

void PlaceBackwardData(const GemmShape& layer, int64_t n, Placing at) {
  const auto dy = at.Activations(layer.outputs, n, 1);
  const auto weight = at.Matrix(layer.outputs, layer.inputs, layer.inputs, 0.1f);
  const auto dx = at.Result(at.Activations(layer.inputs, n));
  // A hidden layer's are a ReLU's.
  const auto x = IsHidden(layer.inputs) ? at.Rectified(layer.inputs, n) : kernels::DeviceMatrix();
  at.Do([=] { at.kernels().linear_backward_data(at.stream(), dy, weight, x, dx); });
}

void PlaceBackwardWeight(const GemmShape& layer, int64_t n, Placing at) {
  const auto dy = at.Activations(layer.outputs, n, 1), x = at.Activations(layer.inputs, n, 1);
  const auto dw = at.Result(at.Matrix(layer.outputs, layer.inputs, layer.inputs));
  const auto bias = at.Result(at.Matrix(1, layer.outputs, layer.outputs));
  at.Do([=] {
    at.kernels().linear_backward_weight(at.stream(), dy, x, /*accumulate=*/false, dw,
                                        {bias.data, layer.outputs});
  });
}

// [m, n] sums over k, which is what the gradient of a layer's inputs is and no more.
CardKernel BareProduct(const char* name, int64_t m, int64_t n, int64_t k) {
  const double bytes = 4.0 * static_cast<double>(m * k + k * n + m * n);
  return Named(name, bytes, 2.0 * static_cast<double>(m * n * k), [=](Placing at) {
    const auto left = at.Matrix(k, m, m, 0.1f);
    const auto right = at.Matrix(k, n, kernels::PaddedStride(n), 1);
    const auto sums = at.Result(at.Matrix(m, n, kernels::PaddedStride(n)));
    at.Do([=] { at.kernels().linear_backward_data(at.stream(), right, left, {}, sums); });
  });
}

}  // namespace

std::vector<CardKernel> BareProducts(const GemmShape& layer, int64_t batch) {
  return {BareProduct("bare_forward", layer.outputs, batch, layer.inputs),
          BareProduct("bare_backward_weight", layer.outputs, layer.inputs, batch)};
}

std::vector<CardKernel> LayerKernels(const GemmShape& layer, int64_t batch) {
  const auto i = static_cast<double>(layer.inputs), o = static_cast<double>(layer.outputs);
  const auto n = static_cast<double>(batch);
  const double bytes = 4 * (i * o + i * n + o * n), operations = 2 * i * o * n;
  std::vector<CardKernel> kernels = {
      Named("linear_forward", bytes, operations,
            [=](const Placing& at) { PlaceForward(layer, batch, at); }),
      Named("linear_backward_weight", bytes, operations,
            [=](const Placing& at) { PlaceBackwardWeight(layer, batch, at); })};
  if (!layer.first) {
    kernels.push_back(Named("linear_backward_data", bytes, operations,
                            [=](const Placing& at) { PlaceBackwardData(layer, batch, at); }));
  }
  return kernels;
}

}  // namespace weir::bench
