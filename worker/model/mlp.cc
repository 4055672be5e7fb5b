#include "worker/model/mlp.h"

#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "worker/model/finite.h"

namespace weir::model {

using kernels::ConstDeviceMatrix;
using kernels::DeviceMatrix;

namespace {

// A tensor's place among the parameters, or in what has their layout.
template <typename Float>
auto WeightView(const TensorSpec& weight, device::Pointer<Float> parameters) {
  return kernels::Dense(parameters + weight.offset, weight.row_count, weight.column_count);
}

kernels::ConstDeviceVector BiasView(const TensorSpec& bias,
                                    device::Pointer<const float> parameters) {
  return {parameters + bias.offset, bias.row_count};
}
kernels::DeviceVector BiasView(const TensorSpec& bias, device::Pointer<float> gradients) {
  return {gradients + bias.offset, bias.row_count};
}

void CheckSize(const compress::SquareSums& squares, const TensorSpec& tensor) {
  CHECK(squares.sums.empty() || static_cast<int64_t>(squares.sums.size) == tensor.element_count())
      << tensor.name;
}

}  // namespace

Mlp::Mlp(const ModelLayout& layout, std::span<const uint32_t> weights, Activations activations,
         const kernels::Compute& compute, int64_t max_samples,
         const compress::SquareSumsOfTensors& squares)
    : kernels_(compute.kernels), turns_hidden_(compute.turns_hidden) {
  CHECK(!weights.empty());
  CHECK_EQ(activations.size(), weights.size());
  CHECK(squares.empty() || squares.size() == layout.tensors().size());
  for (const uint32_t index : weights) {
    CHECK_LT(index + 1, layout.tensors().size());
    const bool is_last = layers_.size() + 1 == weights.size();
    Layer layer{index,
                &layout.tensors()[index],
                &layout.tensors()[index + 1],
                activations[layers_.size()],
                squares.empty() ? compress::SquareSums{} : squares[index],
                squares.empty() ? compress::SquareSums{} : squares[index + 1],
                {},
                {}};
    CHECK_EQ(layer.bias->element_count(), layer.weight->row_count) << layer.weight->name;
    CheckSize(layer.weight_squares, *layer.weight);
    CheckSize(layer.bias_squares, *layer.bias);
    if (!is_last) {
      layer.output = MakeHidden(compute, layer.weight->row_count, max_samples);
      layer.output_gradient = MakeHidden(compute, layer.weight->row_count, max_samples);
    }
    layers_.push_back(std::move(layer));
  }
}

DeviceMatrix Mlp::HiddenGradient(size_t layer, const Slice& slice) {
  return HiddenSliceOf(layers_[layer].output_gradient, layers_[layer].weight->row_count, slice,
                       turns_hidden_);
}

DeviceMatrix Mlp::HiddenOutput(size_t layer, const Slice& slice) const {
  return HiddenSliceOf(layers_[layer].output, layers_[layer].weight->row_count, slice,
                       turns_hidden_);
}

void Mlp::Forward(device::Stream& stream, device::Pointer<const float> parameters,
                  const Slice& slice, const ConstDeviceMatrix& input, const DeviceMatrix& output) {
  ConstDeviceMatrix x = input;
  for (size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    const bool is_last = i + 1 == layers_.size();
    const DeviceMatrix y = is_last ? output : HiddenOutput(i, slice);
    const bool is_relu = layer.activation == v1::ModelConfig::RELU;
    kernels_->linear_forward(stream, x, WeightView(*layer.weight, parameters),
                             BiasView(*layer.bias, parameters),
                             is_relu ? kernels::Activation::kRelu : kernels::Activation::kNone, y);
    if (layer.activation == v1::ModelConfig::SIGMOID) kernels_->sigmoid_forward(stream, y);
    x = y;
  }
}

void Mlp::Backward(device::Stream& stream, device::Pointer<const float> parameters,
                   const Slice& slice, const ConstDeviceMatrix& input,
                   const ConstDeviceMatrix& output, const DeviceMatrix& output_gradient,
                   const DeviceMatrix& input_gradient, bool accumulate,
                   device::Pointer<float> gradients, GradientListener* listener) {
  BackwardActivation(stream, layers_.back(), output, output_gradient);
  DeviceMatrix dy = output_gradient;
  for (size_t i = layers_.size(); i-- > 0;) {
    const bool is_first = i == 0;
    const ConstDeviceMatrix x = is_first ? input : HiddenOutput(i - 1, slice);
    BackwardWeight(stream, layers_[i], dy, x, accumulate, gradients);
    if (listener != nullptr) Tell(stream, layers_[i], listener);
    const DeviceMatrix dx = is_first ? input_gradient : HiddenGradient(i - 1, slice);
    if (dx.data == nullptr) return;
    // A ReLU's gradient is taken on the way; what comes in at the first layer is not known to be
    // one.
    const bool is_relu = !is_first && layers_[i - 1].activation == v1::ModelConfig::RELU;
    kernels_->linear_backward_data(stream, dy, WeightView(*layers_[i].weight, parameters),
                                   is_relu ? HiddenOutput(i - 1, slice) : ConstDeviceMatrix{}, dx);
    if (!is_first && !is_relu)
      BackwardActivation(stream, layers_[i - 1], HiddenOutput(i - 1, slice), dx);
    dy = dx;
  }
}

void Mlp::TellWhole(device::Stream& stream, GradientListener* listener) const {
  for (size_t i = layers_.size(); i-- > 0;) Tell(stream, layers_[i], listener);
}

void Mlp::BackwardWeight(device::Stream& stream, const Layer& layer,
                         const ConstDeviceMatrix& output_gradient, const ConstDeviceMatrix& input,
                         bool accumulate, device::Pointer<float> gradients) const {
  kernels_->linear_backward_weight(stream, output_gradient, input, accumulate,
                                   WeightView(*layer.weight, gradients),
                                   BiasView(*layer.bias, gradients));
  const auto keep = [&](const compress::SquareSums& to) { return accumulate ? 1 : to.decay; };
  if (const device::Span<float> sums = layer.weight_squares.sums; !sums.empty()) {
    kernels_->linear_backward_squares(
        stream, output_gradient, input, keep(layer.weight_squares),
        kernels::Dense(sums.data, layer.weight->row_count, layer.weight->column_count));
  }
  if (const device::Span<float> sums = layer.bias_squares.sums; !sums.empty()) {
    kernels_->bias_backward_squares(stream, output_gradient, keep(layer.bias_squares),
                                    {sums.data, layer.bias->row_count});
  }
}

void Mlp::BackwardActivation(device::Stream& stream, const Layer& layer,
                             const ConstDeviceMatrix& output, const DeviceMatrix& gradient) const {
  if (layer.activation == v1::ModelConfig::RELU) kernels_->relu_backward(stream, output, gradient);
  if (layer.activation == v1::ModelConfig::SIGMOID)
    kernels_->sigmoid_backward(stream, output, gradient);
}

std::string Mlp::FirstNonFinite(device::Stream& stream, device::Pointer<const float> parameters,
                                const Slice& slice, const ConstDeviceMatrix& output) const {
  for (size_t i = 0; i < layers_.size(); ++i) {
    for (const TensorSpec* spec : {layers_[i].weight, layers_[i].bias}) {
      const auto count = static_cast<size_t>(spec->element_count());
      if (!AllFinite(stream, {parameters + spec->offset, count})) return spec->name;
    }
    const bool is_last = i + 1 == layers_.size();
    if (!AllFinite(stream, is_last ? output : HiddenOutput(i, slice))) {
      const std::string& name = layers_[i].weight->name;
      return StrCat("the output of ", name.substr(0, name.rfind('/')));
    }
  }
  return "";
}

}  // namespace weir::model
