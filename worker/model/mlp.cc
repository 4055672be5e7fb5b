#include "worker/model/mlp.h"

#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "worker/model/finite.h"

namespace weir::model {

using kernels::ConstMatrixView;
using kernels::MatrixView;
using kernels::Transpose;

namespace {

ConstMatrixView WeightView(const TensorSpec& weight, const float* parameters) {
  return kernels::Dense(parameters + weight.offset, weight.row_count, weight.column_count);
}

size_t ElementCount(int64_t rows, int64_t columns) { return static_cast<size_t>(rows * columns); }

}  // namespace

Mlp::Mlp(const ModelLayout& layout, std::span<const uint32_t> weights,
         LastActivation last_activation, const kernels::KernelTable& kernels, int64_t max_rows)
    : kernels_(&kernels), max_rows_(max_rows) {
  CHECK(!weights.empty());
  for (const uint32_t index : weights) {
    CHECK_LT(index + 1, layout.tensors().size());
    const bool is_last = layers_.size() + 1 == weights.size();
    Layer layer{&layout.tensors()[index],
                &layout.tensors()[index + 1],
                !is_last || last_activation == LastActivation::kRelu,
                {},
                {}};
    CHECK_EQ(layer.bias->element_count(), layer.weight->row_count) << layer.weight->name;
    if (!is_last) {
      const size_t element_count = ElementCount(max_rows, layer.weight->row_count);
      layer.output = tensor::AlignedBuffer(element_count);
      layer.output_gradient = tensor::AlignedBuffer(element_count);
    }
    layers_.push_back(std::move(layer));
  }
}

ConstMatrixView Mlp::HiddenOutput(size_t layer, int64_t row_count) const {
  return kernels::Dense(layers_[layer].output.data(), row_count, layers_[layer].weight->row_count);
}

MatrixView Mlp::HiddenGradient(size_t layer, int64_t row_count) {
  return kernels::Dense(layers_[layer].output_gradient.data(), row_count,
                        layers_[layer].weight->row_count);
}

void Mlp::ForwardLayer(const Layer& layer, const float* parameters, const ConstMatrixView& input,
                       const MatrixView& output) const {
  kernels_->gemm(input, Transpose::kNo, WeightView(*layer.weight, parameters), Transpose::kYes,
                 output, /*accumulate=*/false);
  const kernels::ConstVectorView bias{parameters + layer.bias->offset, layer.bias->row_count};
  (layer.has_relu ? kernels_->add_bias_relu : kernels_->add_bias)(bias, output);
}

void Mlp::Forward(const float* parameters, const ConstMatrixView& input, const MatrixView& output) {
  CHECK_LE(input.row_count, max_rows_);
  ConstMatrixView layer_input = input;
  for (size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    const bool is_last = i + 1 == layers_.size();
    const MatrixView layer_output =
        is_last ? output
                : kernels::Dense(layer.output.data(), input.row_count, layer.weight->row_count);
    ForwardLayer(layer, parameters, layer_input, layer_output);
    layer_input = layer_output;
  }
}

void Mlp::Backward(const float* parameters, const ConstMatrixView& input,
                   const ConstMatrixView& output, const MatrixView& output_gradient,
                   float* gradients, const MatrixView& input_gradient) {
  CHECK_LE(input.row_count, max_rows_);
  ConstMatrixView y = output;
  MatrixView dy = output_gradient;
  for (size_t i = layers_.size(); i-- > 0;) {
    const Layer& layer = layers_[i];
    const TensorSpec& weight = *layer.weight;
    const ConstMatrixView x = i == 0 ? input : HiddenOutput(i - 1, input.row_count);
    const MatrixView dx = i == 0 ? input_gradient : HiddenGradient(i - 1, input.row_count);
    if (layer.has_relu) kernels_->relu_backward(y, dy);
    kernels_->bias_gradient(dy, {gradients + layer.bias->offset, layer.bias->row_count});
    // dW = dy^T x, dx = dy W
    kernels_->gemm(dy, Transpose::kYes, x, Transpose::kNo,
                   kernels::Dense(gradients + weight.offset, weight.row_count, weight.column_count),
                   /*accumulate=*/false);
    if (dx.data != nullptr) {
      kernels_->gemm(dy, Transpose::kNo, WeightView(weight, parameters), Transpose::kNo, dx,
                     /*accumulate=*/false);
    }
    y = x;
    dy = dx;
  }
}

std::string Mlp::FirstNonFinite(const float* parameters, const ConstMatrixView& output) const {
  for (size_t i = 0; i < layers_.size(); ++i) {
    for (const TensorSpec* spec : {layers_[i].weight, layers_[i].bias}) {
      if (!AllFinite(parameters + spec->offset, spec->element_count())) return spec->name;
    }
    const bool is_last = i + 1 == layers_.size();
    if (!AllFinite(is_last ? output : HiddenOutput(i, output.row_count))) {
      const std::string& name = layers_[i].weight->name;
      return StrCat("the output of ", name.substr(0, name.rfind('/')));
    }
  }
  return "";
}

}  // namespace weir::model
