// The layers of one stage, between two splits, or all of them: of the bottom MLP, of the top one,
// and what is between, as much as the stage has.
//
// It holds the activations of one slice of a batch, no parameters: weights are read from the
// replica's flat buffer at TensorSpec::offset, and gradients go to a flat buffer of the same shape.
// Who runs a stage puts what it is given into input, or, for the first stage, nothing: that one
// reads the batch. Of a batch each stage uses what its layers need: dense features the first one,
// ids the one with the interaction, labels whoever computes the loss from the last one's output.
//
// Place in the life of a batch: forward and backward of a stage, below Dlrm.
// Thread rule: thread-compatible; one per slice under way of a Hogwild thread. The replica may be
// written meanwhile (common/base/hogwild.h). Borrows layout and kernels, which outlive it. No
// allocation after construction. Move-only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/kernels/kernel_table.h"
#include "common/layout/model_layout.h"
#include "common/tensor/aligned_buffer.h"
#include "worker/data/batch.h"
#include "worker/model/interaction.h"
#include "worker/model/mlp.h"
#include "worker/model/slice.h"

namespace weir::model {

// Where a step's gradients go.
struct GradientBuffers {
  float* dense = nullptr;        // flat
  std::span<float> rows;         // shaped like the batch's rows
  std::span<float> row_squares;  // one for each of the batch's rows, or none
};

class Stage {
 public:
  // squares: where Backward adds them up (Mlp); empty: nowhere.
  Stage(const ModelLayout& layout, const StageSpec& spec, const kernels::KernelTable& kernels,
        int64_t max_samples, const compress::SquareSumsOfTensors& squares);

  const StageSpec& spec() const { return spec_; }

  // [input_width, samples]: what the stage before gave, and its gradient after Backward. Not of the
  // first stage.
  kernels::MatrixView input(const Slice& slice);
  kernels::MatrixView input_gradient(const Slice& slice);

  // [output_width, samples]: what Forward gives, and the gradient that Backward takes and
  // overwrites.
  kernels::MatrixView output(const Slice& slice) {
    return SliceOf(output_, spec_.output_width, slice);
  }
  kernels::MatrixView output_gradient(const Slice& slice) {
    return SliceOf(output_gradient_, spec_.output_width, slice);
  }

  // rows: the unique rows of the batch, table after table; only read by the interaction.
  void Forward(const float* parameters, const data::Batch& batch, const Slice& slice,
               std::span<const float> rows);

  // After Forward of the same slice. The first slice of a batch overwrites this stage's tensors in
  // gradients.dense, the others add; all add to rows, row_squares and the sums of squares.
  void Backward(const float* parameters, const data::Batch& batch, const Slice& slice,
                const GradientBuffers& gradients);

  // For the failure path: the first place in this stage, in the order of forward, that is not
  // finite after Forward; empty when all are.
  std::string FirstNonFinite(const float* parameters, const data::Batch& batch, const Slice& slice,
                             std::span<const float> rows);

 private:
  kernels::ConstMatrixView DenseRows(const data::Batch& batch, const Slice& slice) const;
  kernels::MatrixView BottomOutput(const Slice& slice);
  kernels::MatrixView BottomGradient(const Slice& slice);
  kernels::MatrixView TopInput(const Slice& slice);
  kernels::MatrixView TopInputGradient(const Slice& slice);
  std::string FirstNonFiniteTable(const data::Batch& batch, std::span<const float> rows) const;

  const ModelLayout* layout_;
  const kernels::KernelTable* kernels_;
  StageSpec spec_;
  bool is_first_;
  std::optional<Mlp> bottom_, top_;
  std::optional<Interaction> interaction_;
  // The dense features of the first stage, or what the stage before gave where that is not the
  // interaction's: [input width, samples].
  tensor::AlignedBuffer input_;
  tensor::AlignedBuffer input_gradient_;  // the same shape; not of the first stage
  tensor::AlignedBuffer output_;          // [output width, samples]
  tensor::AlignedBuffer output_gradient_;
};

}  // namespace weir::model
