// The network: bottom MLP over the dense features, one embedding row per table, or the sum of
// several, their interaction, top MLP to one logit (Naumov et al. 2019, the structure of
// facebookresearch/dlrm). Without dense features there is no bottom MLP.
//
// It holds activations, no parameters: weights are read from the replica's flat buffer at
// TensorSpec::offset, embedding rows are those that were pulled for the batch, and gradients go to
// buffers of the same two shapes:
//   flat: ModelLayout::flat_element_count() floats;
//   rows: the batch's unique rows, table after table, [sum of unique, embedding_dimension].
//
// A batch is computed in slices of kSliceRows rows, forward, loss and backward, so that what one
// layer gives is in the second-level cache when the next one takes it, whatever the batch size.
// Wider slices read weights and add to their gradients less often, and lose that.
//
// Place in the life of a batch: forward -> loss -> backward, which is Train; Score for evaluation.
// No allocation in either. Thread rule: thread-compatible; one per Hogwild thread. The replica may
// be written meanwhile (common/base/hogwild.h). Borrows layout and kernels, which outlive it.
// Move-only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/kernels/kernel_table.h"
#include "common/layout/model_layout.h"
#include "common/tensor/aligned_buffer.h"
#include "worker/data/batch.h"
#include "worker/model/interaction.h"
#include "worker/model/mlp.h"

namespace weir::model {

class Dlrm {
 public:
  static constexpr int64_t kSliceRows = 128;

  // squared: the tensors whose squares Train gives, by index (Mlp); empty: of none.
  Dlrm(const ModelLayout& layout, const kernels::KernelTable& kernels,
       const std::vector<bool>& squared = {});

  // Returns the sum of the logloss over the batch. The gradients are those of the loss's mean over
  // mean_rows rows: the batch's own, or, so that each sample weighs the same in a short last batch,
  // those of a full one. gradients: flat; every tensor is overwritten, the padding between them is
  // left alone. row_gradients: shaped like rows; overwritten. squares: flat; of the squared layers
  // every element is overwritten (Mlp::Backward); null where there are none. row_squares: of each
  // row the sum over samples of the squared norm of what the sample gives to it; overwritten; or
  // empty. A loss that is not finite is an error that names the first layer, in forward order,
  // whose parameters or output are not finite; the gradients are then of no use.
  Result<double> Train(const float* parameters, const data::Batch& batch,
                       std::span<const float> rows, int64_t mean_rows, float* gradients,
                       std::span<float> row_gradients, float* squares = nullptr,
                       std::span<float> row_squares = {});

  // The probability of label 1 for each row of the batch.
  void Score(const float* parameters, const data::Batch& batch, std::span<const float> rows,
             std::span<float> probabilities);

 private:
  // From the dense features and the rows to logits_.
  void Forward(const float* parameters, const data::Batch& batch, const Slice& slice,
               std::span<const float> rows);
  // From logits_ to logit_gradients_; returns the sum over the slice.
  double Loss(const data::Batch& batch, const Slice& slice, int64_t mean_rows);
  // Adds to gradients, row_gradients and squares; the first slice overwrites gradients and squares.
  void Backward(const float* parameters, const data::Batch& batch, const Slice& slice,
                float* gradients, std::span<float> row_gradients, float* squares,
                std::span<float> row_squares);
  void ZeroTensors(float* flat);

  Status Diverged(const float* parameters, const data::Batch& batch, const Slice& slice,
                  std::span<const float> rows);
  std::string FirstNonFinite(const float* parameters, const data::Batch& batch, const Slice& slice,
                             std::span<const float> rows);
  std::string FirstNonFiniteTable(const data::Batch& batch, std::span<const float> rows) const;
  void CheckShapes(const data::Batch& batch, size_t row_element_count) const;
  kernels::ConstMatrixView DenseRows(const data::Batch& batch, const Slice& slice) const;
  kernels::MatrixView DenseInput(const Slice& slice) {
    return SliceOf(dense_input_, layout_->dense_feature_count(), slice);
  }
  kernels::MatrixView Logits(const Slice& slice) { return SliceOf(logits_, 1, slice); }
  kernels::MatrixView LogitGradients(const Slice& slice) {
    return SliceOf(logit_gradients_, 1, slice);
  }

  const ModelLayout* layout_;
  const kernels::KernelTable* kernels_;
  kernels::Loss loss_;
  std::optional<Mlp> bottom_;
  Interaction interaction_;
  Mlp top_;
  tensor::AlignedBuffer dense_input_;      // [dense features, PaddedStride(kSliceRows)]
  tensor::AlignedBuffer logits_;           // [PaddedStride(kSliceRows)]
  tensor::AlignedBuffer logit_gradients_;  // the same shape
};

}  // namespace weir::model
