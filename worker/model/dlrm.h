// The network: bottom MLP over the dense features, one embedding row per table, or the sum of
// several, their interaction, top MLP to one logit (Naumov et al. 2019, the structure of
// facebookresearch/dlrm). Without dense features there is no bottom MLP.
//
// All its stages (Stage) one after the other; what crosses a split between two of them passes
// through the split's policy (SplitPolicy), there and back, as it would over a network.
//
// It holds activations, no parameters: weights are read from the replica's flat buffer at
// TensorSpec::offset, embedding rows are those that were pulled for the batch, and gradients go to
// buffers of the same two shapes:
//   flat: ModelLayout::flat_element_count() floats;
//   rows: the batch's unique rows, table after table, [sum of unique, embedding_dimension].
//
// A batch is computed in slices of kSliceRows rows (slice.h), forward, loss and backward, so that
// what one layer gives is in the second-level cache when the next one takes it, whatever the batch
// size. Wider slices read weights and add to their gradients less often, and lose that.
//
// Place in the life of a batch: forward -> loss -> backward, which is Train; Score for evaluation.
// No allocation in either, once it has seen its largest batch. Thread rule: thread-compatible; one
// per Hogwild thread. The replica may be written meanwhile (common/base/hogwild.h). Borrows layout
// and kernels, which outlive it. Move-only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/kernels/kernel_table.h"
#include "common/layout/model_layout.h"
#include "common/split/split_policy.h"
#include "common/tensor/aligned_buffer.h"
#include "worker/data/batch.h"
#include "worker/model/logit_loss.h"
#include "worker/model/slice.h"
#include "worker/model/split_crossing.h"
#include "worker/model/stage.h"

namespace weir::model {

class Dlrm {
 public:
  // squares: where Train adds them up (Mlp); empty: nowhere. split_seed: of random choices at the
  // splits.
  Dlrm(const ModelLayout& layout, const kernels::KernelTable& kernels,
       const compress::SquareSumsOfTensors& squares = {}, uint64_t split_seed = 0);

  // Returns the sum of the logloss over the batch. The gradients are those of the loss's mean over
  // mean_rows rows: the batch's own, or, so that each sample weighs the same in a short last batch,
  // those of a full one. gradients: overwritten, but for the padding between dense tensors;
  // row_squares: of each row the sum over samples of the squared norm of what the sample gives to
  // it. A loss that
  // is not finite is an error that names the first layer, in forward order, whose parameters or
  // output are not finite; the gradients are then of no use.
  Result<double> Train(const float* parameters, const data::Batch& batch,
                       std::span<const float> rows, int64_t mean_rows,
                       const GradientBuffers& gradients);

  // What crosses the splits: what their policies let through; everything; or, so that a sample has
  // the same probability wherever it stands, as trained where that depends on the sample alone, and
  // everything elsewhere.
  enum class Crossing { kAsTrained, kWhole, kOfSampleAlone };

  // The probability of label 1 for each row of the batch.
  void Score(const float* parameters, const data::Batch& batch, std::span<const float> rows,
             std::span<float> probabilities, Crossing crossing = Crossing::kAsTrained);

  // What crossed each split in Train since this was asked for the last time.
  std::vector<SplitCounts> TakeSplitCounts();

 private:
  // From the dense features and the rows to the logits.
  void Forward(const float* parameters, const data::Batch& batch, const Slice& slice,
               std::span<const float> rows, Crossing crossing);
  void Backward(const float* parameters, const data::Batch& batch, const Slice& slice,
                const GradientBuffers& gradients);
  void ZeroTensors(float* flat);

  Status Diverged(const float* parameters, const data::Batch& batch, const Slice& slice,
                  std::span<const float> rows);
  std::string FirstNonFinite(const float* parameters, const data::Batch& batch, const Slice& slice,
                             std::span<const float> rows);
  void CheckShapes(const data::Batch& batch, size_t row_element_count) const;
  kernels::MatrixView Logits(const Slice& slice) { return stages_.back().output(slice); }

  const ModelLayout* layout_;
  const kernels::KernelTable* kernels_;
  LogitLoss loss_;
  std::vector<Stage> stages_;
  std::vector<SplitCrossing> splits_;  // between two stages each
};

}  // namespace weir::model
