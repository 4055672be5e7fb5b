#include "worker/model/mlp.h"

#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "worker/model/finite.h"

namespace weir::model {

using kernels::ConstMatrixView;
using kernels::MatrixView;

namespace {

// A tensor's place among the parameters, or in what has their layout.
template <typename Float>
auto WeightView(const TensorSpec& weight, Float* parameters) {
  return kernels::Dense(parameters + weight.offset, weight.row_count, weight.column_count);
}

kernels::ConstVectorView BiasView(const TensorSpec& bias, const float* parameters) {
  return {parameters + bias.offset, bias.row_count};
}
kernels::VectorView BiasView(const TensorSpec& bias, float* gradients) {
  return {gradients + bias.offset, bias.row_count};
}

void CheckSize(const compress::SquareSums& squares, const TensorSpec& tensor) {
  CHECK(squares.sums.empty() || std::ssize(squares.sums) == tensor.element_count()) << tensor.name;
}

}  // namespace

Mlp::Mlp(const ModelLayout& layout, std::span<const uint32_t> weights, Activations activations,
         const kernels::KernelTable& kernels, int64_t max_samples,
         const compress::SquareSumsOfTensors& squares)
    : kernels_(&kernels) {
  CHECK(!weights.empty());
  CHECK_EQ(activations.size(), weights.size());
  CHECK(squares.empty() || squares.size() == layout.tensors().size());
  for (const uint32_t index : weights) {
    CHECK_LT(index + 1, layout.tensors().size());
    const bool is_last = layers_.size() + 1 == weights.size();
    Layer layer{&layout.tensors()[index],
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
      const auto element_count =
          static_cast<size_t>(layer.weight->row_count * kernels::PaddedStride(max_samples));
      layer.output = tensor::AlignedBuffer(element_count);
      layer.output_gradient = tensor::AlignedBuffer(element_count);
    }
    layers_.push_back(std::move(layer));
  }
}

MatrixView Mlp::HiddenGradient(size_t layer, const Slice& slice) {
  return SliceOf(layers_[layer].output_gradient, layers_[layer].weight->row_count, slice);
}

ConstMatrixView Mlp::HiddenOutput(size_t layer, const Slice& slice) const {
  return SliceOf(layers_[layer].output, layers_[layer].weight->row_count, slice);
}

void Mlp::Forward(const float* parameters, const Slice& slice, const ConstMatrixView& input,
                  const MatrixView& output) {
  ConstMatrixView x = input;
  for (size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    const bool is_last = i + 1 == layers_.size();
    const MatrixView y = is_last ? output : SliceOf(layer.output, layer.weight->row_count, slice);
    const bool is_relu = layer.activation == v1::ModelConfig::RELU;
    kernels_->linear_forward(x, WeightView(*layer.weight, parameters),
                             BiasView(*layer.bias, parameters),
                             is_relu ? kernels::Activation::kRelu : kernels::Activation::kNone, y);
    if (layer.activation == v1::ModelConfig::SIGMOID) kernels_->sigmoid_forward(y);
    x = y;
  }
}

void Mlp::Backward(const float* parameters, const Slice& slice, const ConstMatrixView& input,
                   const ConstMatrixView& output, const MatrixView& output_gradient,
                   const MatrixView& input_gradient, bool accumulate, float* gradients) {
  BackwardActivation(layers_.back(), output, output_gradient);
  MatrixView dy = output_gradient;
  for (size_t i = layers_.size(); i-- > 0;) {
    const bool is_first = i == 0;
    const ConstMatrixView x = is_first ? input : HiddenOutput(i - 1, slice);
    BackwardWeight(layers_[i], dy, x, accumulate, gradients);
    const MatrixView dx = is_first ? input_gradient : HiddenGradient(i - 1, slice);
    if (dx.data == nullptr) return;
    // A ReLU's gradient is taken on the way; what comes in at the first layer is not known to be
    // one.
    const bool is_relu = !is_first && layers_[i - 1].activation == v1::ModelConfig::RELU;
    kernels_->linear_backward_data(dy, WeightView(*layers_[i].weight, parameters),
                                   is_relu ? HiddenOutput(i - 1, slice) : ConstMatrixView{}, dx);
    if (!is_first && !is_relu) BackwardActivation(layers_[i - 1], HiddenOutput(i - 1, slice), dx);
    dy = dx;
  }
}

void Mlp::BackwardWeight(const Layer& layer, const ConstMatrixView& output_gradient,
                         const ConstMatrixView& input, bool accumulate, float* gradients) const {
  kernels_->linear_backward_weight(output_gradient, input, accumulate,
                                   WeightView(*layer.weight, gradients),
                                   BiasView(*layer.bias, gradients));
  const auto keep = [&](const compress::SquareSums& to) { return accumulate ? 1 : to.decay; };
  if (const std::span<float> sums = layer.weight_squares.sums; !sums.empty()) {
    kernels_->linear_backward_squares(
        output_gradient, input, keep(layer.weight_squares),
        kernels::Dense(sums.data(), layer.weight->row_count, layer.weight->column_count));
  }
  if (const std::span<float> sums = layer.bias_squares.sums; !sums.empty()) {
    kernels_->bias_backward_squares(output_gradient, keep(layer.bias_squares),
                                    {sums.data(), layer.bias->row_count});
  }
}

void Mlp::BackwardActivation(const Layer& layer, const ConstMatrixView& output,
                             const MatrixView& gradient) const {
  if (layer.activation == v1::ModelConfig::RELU) kernels_->relu_backward(output, gradient);
  if (layer.activation == v1::ModelConfig::SIGMOID) kernels_->sigmoid_backward(output, gradient);
}

std::string Mlp::FirstNonFinite(const float* parameters, const Slice& slice,
                                const ConstMatrixView& output) const {
  for (size_t i = 0; i < layers_.size(); ++i) {
    for (const TensorSpec* spec : {layers_[i].weight, layers_[i].bias}) {
      if (!AllFinite(parameters + spec->offset, spec->element_count())) return spec->name;
    }
    const bool is_last = i + 1 == layers_.size();
    if (!AllFinite(is_last ? output : HiddenOutput(i, slice))) {
      const std::string& name = layers_[i].weight->name;
      return StrCat("the output of ", name.substr(0, name.rfind('/')));
    }
  }
  return "";
}

}  // namespace weir::model
