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
// A batch is computed in slices, forward, loss and backward, of as many rows as the device says
// (Compute): on a CPU, what one layer gives is then in the second-level cache when the next one
// takes it, whatever the batch size. Wider slices read weights less often, and lose that.
//
// Place in the life of a batch: forward -> loss -> backward, which is Train; Score for evaluation.
// No allocation in either, once it has seen its largest batch. Thread rule: thread-compatible; one
// per Hogwild thread, always with the same stream. The replica may be written meanwhile
// (common/base/hogwild.h). Borrows layout, device and kernels, which outlive it. Move-only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/split/split_policy.h"
#include "worker/data/batch.h"
#include "worker/model/device_batch.h"
#include "worker/model/logit_loss.h"
#include "worker/model/slice.h"
#include "worker/model/split_crossing.h"
#include "worker/model/stage.h"

namespace weir::model {

class Dlrm {
 public:
  // squares: where Train adds them up (Mlp); empty: nowhere. split_seed: of random choices at the
  // splits.
  Dlrm(const ModelLayout& layout, const kernels::Compute& compute,
       const compress::SquareSumsOfTensors& squares = {}, uint64_t split_seed = 0);

  // Returns the sum of the logloss over the batch. The gradients are those of the loss's mean over
  // mean_rows rows: the batch's own, or, so that each sample weighs the same in a short last batch,
  // those of a full one. gradients: overwritten, but for the padding between dense tensors;
  // row_squares: of each row the sum over samples of the squared norm of what the sample gives to
  // it. A loss that is not finite is an error that names the first layer, in forward order, whose
  // parameters or output are not finite; the gradients are then of no use, though a listener has
  // heard of them (GradientListener).
  Result<double> Train(device::Stream& stream, device::Pointer<const float> parameters,
                       const data::Batch& batch, device::Span<const float> rows, int64_t mean_rows,
                       const GradientBuffers& gradients);
  // The same in two parts: a device need not be waited for before the rest of the step is enqueued.
  // rows and gradients.rows may be longer than the batch's, which is nobody's then.
  Status StartTraining(device::Stream& stream, device::Pointer<const float> parameters,
                       const data::Batch& batch, device::Span<const float> rows, int64_t mean_rows,
                       const GradientBuffers& gradients);
  Result<double> AwaitLoss();

  // What crosses the splits: what their policies let through; everything; or, so that a sample has
  // the same probability wherever it stands, as trained where that depends on the sample alone, and
  // everything elsewhere.
  enum class Crossing { kAsTrained, kWhole, kOfSampleAlone };

  // The probability of label 1 for each row.
  Status Score(device::Stream& stream, device::Pointer<const float> parameters,
               const data::Batch& batch, device::Span<const float> rows,
               std::span<float> probabilities, Crossing crossing = Crossing::kAsTrained);

  // What crossed each split in Train since this was asked for the last time.
  std::vector<SplitCounts> TakeSplitCounts();

 private:
  // What is computed from; batch_ is set.
  struct Input {
    device::Stream& stream;
    device::Pointer<const float> parameters;
    device::Span<const float> rows;
  };
  void Begin(const Input& input, const data::Batch& batch);
  // Forward, loss and backward.
  Status TrainSlice(const Input& input, const Slice& slice, int64_t mean_rows,
                    const GradientBuffers& gradients);
  // The same, where a device repeats what it did for the last such batch.
  void RepeatSlice(const Input& input, const Slice& slice, int64_t mean_rows,
                   const GradientBuffers& gradients);
  // Adds the last slice's loss to the batch's.
  Status AddLoss();
  // From the dense features and the rows to the logits.
  Status Forward(const Input& input, const Slice& slice, Crossing crossing);
  Status Backward(const Input& input, const Slice& slice, const GradientBuffers& gradients);
  void ZeroGradients(device::Stream& stream, const GradientBuffers& gradients);

  Status Diverged();
  std::string FirstNonFinite(const Input& input, const Slice& slice);

  const ModelLayout* layout_;
  const kernels::DeviceKernels* kernels_;
  int64_t slice_rows_;
  bool tells_behind_;  // what is repeated (RepeatSlice), and not from within
  LogitLoss loss_;
  DeviceBatch batch_;
  std::vector<Stage> stages_;
  std::vector<SplitCrossing> splits_;            // between two stages each
  device::Mirror<float> probabilities_;          // of a slice
  std::optional<std::pair<Input, Slice>> last_;  // whose loss is awaited
  device::Pointer<const float> last_gradients_;
  double loss_sum_ = 0;  // of the batch at hand
};

}  // namespace weir::model
