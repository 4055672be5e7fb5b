// A stack of linear layers, y = x W^T + b, each followed by a ReLU (the last one perhaps not). Its
// weights are not its own: they are read from the flat replica buffer at the offsets that the model
// layout gives, and gradients are written to a flat buffer of the same shape.
//
// Place in the life of a batch: forward and backward, below Dlrm.
// Thread rule: thread-compatible; one per Hogwild thread. The replica may change while Load reads
// it (common/base/hogwild.h); forward and backward of a step then use the same weights. Owns the
// packed weights and the outputs of all layers but the last, which the caller places; borrows
// layout and kernels. Allocates at construction only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/kernels/kernel_table.h"
#include "common/layout/model_layout.h"
#include "common/tensor/aligned_buffer.h"

namespace weir::model {

enum class LastActivation { kRelu, kNone };

class Mlp {
 public:
  // weights: indexes of the layers' weights in layout.tensors(), at least one; each bias follows
  // its weight. max_rows: the largest batch.
  Mlp(const ModelLayout& layout, std::span<const uint32_t> weights, LastActivation last_activation,
      const kernels::KernelTable& kernels, int64_t max_rows);

  // Takes this MLP's parameters from a flat buffer, for all calls until the next Load.
  void Load(const float* parameters);

  // input: [rows, input width]; output: [rows, output width].
  void Forward(const kernels::ConstMatrixView& input, const kernels::MatrixView& output);

  // After Forward with the same input and output. output_gradient is used as scratch. Every element
  // of this MLP's tensors in gradients is overwritten, or, with accumulate, added to.
  // input_gradient: shaped like input, or without data when nobody needs it.
  void Backward(const kernels::ConstMatrixView& input, const kernels::ConstMatrixView& output,
                const kernels::MatrixView& output_gradient, bool accumulate, float* gradients,
                const kernels::MatrixView& input_gradient);

  // For the failure path: the first tensor ("bottom/0/weight") or layer output ("the output of
  // bottom/0") that is not finite after Forward gave output; empty when all are.
  std::string FirstNonFinite(const float* parameters, const kernels::ConstMatrixView& output) const;

 private:
  struct Layer {
    const TensorSpec* weight;
    const TensorSpec* bias;
    kernels::Activation activation;
    tensor::AlignedBuffer packed;
    tensor::AlignedBuffer output;           // [max_rows, stride]; empty for the last layer
    tensor::AlignedBuffer output_gradient;  // the same shape
  };

  kernels::MatrixView Hidden(tensor::AlignedBuffer& buffer, size_t layer, int64_t row_count) const;
  kernels::ConstMatrixView HiddenOutput(size_t layer, int64_t row_count) const;

  const kernels::KernelTable* kernels_;
  int64_t max_rows_;
  std::vector<Layer> layers_;
};

}  // namespace weir::model
