// The network: bottom MLP over the dense features, one embedding row per table, pairwise dot
// interaction, top MLP to one logit (Naumov et al. 2019, the structure of facebookresearch/dlrm;
// one id per table and sample, so no pooling).
//
// It holds activations, no parameters: weights are read from the replica's flat buffer at
// TensorSpec::offset, embedding rows are those that were pulled for the batch, and gradients go to
// buffers of the same two shapes:
//   flat: ModelLayout::flat_element_count() floats;
//   rows: the batch's unique rows, table after table, [sum of unique, embedding_dimension].
//
// Place in the life of a batch: forward -> loss -> backward, in this order, once each:
// Forward Loss Backward per training step, Score alone for evaluation. No allocation in any of
// them. Thread rule: thread-compatible; one per Hogwild thread. The replica may be written
// meanwhile (common/base/hogwild.h). Borrows layout and kernels, which outlive it. Move-only.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/base/status.h"
#include "common/kernels/kernel_table.h"
#include "common/layout/model_layout.h"
#include "common/tensor/aligned_buffer.h"
#include "worker/data/batch.h"
#include "worker/model/interaction.h"
#include "worker/model/mlp.h"

namespace weir::model {

struct LossResult {
  double logloss_sum = 0;  // over the batch
  int64_t row_count = 0;
};

class Dlrm {
 public:
  // max_rows: rows of the largest batch; smaller ones are welcome.
  Dlrm(const ModelLayout& layout, const kernels::KernelTable& kernels, int64_t max_rows);

  // Returns the logits, [batch rows], valid until the next call.
  std::span<const float> Forward(const float* parameters, const data::Batch& batch,
                                 std::span<const float> rows);

  // After Forward of this batch. The gradient is that of the mean over mean_rows rows: the batch's
  // own, or, so that each sample weighs the same in a short last batch, those of a full one.
  LossResult Loss(const data::Batch& batch) { return Loss(batch, batch.row_count); }
  LossResult Loss(const data::Batch& batch, int64_t mean_rows);

  // After Loss of this batch. gradients: flat; every tensor is overwritten, the padding between
  // them is left alone. row_gradients: shaped like rows; overwritten.
  void Backward(const float* parameters, const data::Batch& batch, float* gradients,
                std::span<float> row_gradients);

  // The probability of label 1 for each row of the batch.
  void Score(const float* parameters, const data::Batch& batch, std::span<const float> rows,
             std::span<float> probabilities);

  // After Loss of this batch: ok for a finite loss; else an error that names the first layer, in
  // forward order, whose parameters or output are not finite.
  Status CheckFinite(const LossResult& loss, const float* parameters, const data::Batch& batch,
                     std::span<const float> rows);

 private:
  std::string FirstNonFinite(const float* parameters, const data::Batch& batch,
                             std::span<const float> rows);
  std::string FirstNonFiniteTable(const data::Batch& batch, std::span<const float> rows) const;
  void CheckShapes(const data::Batch& batch, size_t row_element_count) const;
  kernels::ConstMatrixView DenseInput(const data::Batch& batch) const;
  kernels::MatrixView Logits(int64_t row_count) {
    return kernels::Dense(logits_.data(), row_count, 1);
  }

  const ModelLayout* layout_;
  const kernels::KernelTable* kernels_;
  int64_t max_rows_;
  Mlp bottom_;
  Interaction interaction_;
  Mlp top_;
  tensor::AlignedBuffer logits_;           // [max_rows]
  tensor::AlignedBuffer logit_gradients_;  // [max_rows]
};

}  // namespace weir::model
