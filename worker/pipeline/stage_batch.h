// A batch on its way through one stage: its rows, the activations of all its slices, which live
// from its forward to its backward pass, and what the splits at both ends remember of it.
//
// StageMath does the passes: from frames of the stage before to frames for the one behind, and
// back.
//
// Place in the life of a batch: **forward** ... **backward**, of one stage.
// Thread rule: a StageBatch is one thread's at a time; a StageMath is one thread's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/kernels/compute.h"
#include "common/kernels/kernel_table.h"
#include "common/layout/model_layout.h"
#include "common/proto/protocol.pb.h"
#include "common/session/body.h"
#include "common/split/split_policy.h"
#include "worker/client/parameter_client.h"
#include "worker/data/batch.h"
#include "worker/model/device_batch.h"
#include "worker/model/finite.h"
#include "worker/model/logit_loss.h"
#include "worker/model/split_counts.h"
#include "worker/model/split_end.h"
#include "worker/model/stage.h"
#include "worker/step/chunk_work.h"

namespace weir::worker {

struct StageBatch {
  uint64_t number = 0;
  uint64_t generation = 0;  // 0: it is none yet
  v1::BatchName name;
  data::Batch batch;
  std::optional<model::DeviceBatch> on_device;  // the same, once it is computed with
  std::unique_ptr<RowPull> pull;
  size_t row_elements = 0;  // of its rows
  ReadMark mark;
  // Of the first stage.
  std::shared_ptr<ChunkWork> chunk;
  ChunkWork::BatchRange range;

  bool is_test() const { return name.split() == v1::TEST; }

  std::vector<model::Stage> slices;                // of the batch
  std::vector<split::BlockMemory> before, behind;  // by frame
};

class StageMath {
 public:
  // trainer: gives its policies random choices of their own, at both ends. squares: where Backward
  // adds them up; empty: nowhere.
  StageMath(const ModelLayout& layout, uint32_t trainer, uint32_t stage,
            const kernels::Compute& compute, device::Stream& stream,
            compress::SquareSumsOfTensors squares);

  bool is_first() const { return stage_ == 0; }
  bool is_last() const { return stage_ + 1 == layout_.stages().size(); }

  // What crosses the splits: what their policies let through, or everything.
  enum class Crossing { kAsTrained, kWhole };

  // input: the frames of the stage before, one a slice, of which it takes so many; of no use to the
  // first stage. output: gets those for the stage behind; nothing of the last stage. rows: the
  // batch's. InvalidData when the frames do not fit the batch.
  Status Forward(device::Pointer<const float> parameters, device::Span<const float> rows,
                 Crossing crossing, session::BodyReader* input, StageBatch* batch,
                 session::BodyWriter* output);

  // Of the last stage, after Forward. Returns the sum of the logloss over the batch; an error when
  // that is not finite.
  Result<double> Loss(device::Pointer<const float> parameters, device::Span<const float> rows,
                      StageBatch* batch);
  // Appends the probability of label 1 for each row.
  Status Score(StageBatch* batch, std::vector<float>* probabilities);

  // After Forward as trained, and Loss if it is the last stage. input: the frames of the stage
  // behind; output: gets those for the stage before. gradients: as Dlrm::Train has them.
  Status Backward(device::Pointer<const float> parameters, const model::GradientBuffers& gradients,
                  session::BodyReader* input, StageBatch* batch, session::BodyWriter* output);

  // Behind Backward, once all is enqueued that need not wait for it: an error that names what is
  // not finite of the stage's parameters and gradients, where hidden ReLUs may make 0 of NaN and no
  // loss tells (Compute::turns_hidden).
  Status AwaitFinite(device::Pointer<const float> parameters,
                     device::Pointer<const float> gradients);

  // What crossed the splits before and behind this stage since the last time, in training: forward
  // behind it, backward before it. By split.
  std::vector<model::SplitCounts> TakeSplitCounts();

 private:
  void MakeRoom(StageBatch* batch) const;
  split::SplitPolicy* Policy(const std::unique_ptr<split::SplitPolicy>& policy,
                             Crossing crossing) const {
    return crossing == Crossing::kWhole ? whole_.get() : policy.get();
  }

  const ModelLayout& layout_;
  const uint32_t stage_;
  const kernels::Compute compute_;
  device::Stream& stream_;
  const compress::SquareSumsOfTensors squares_;
  const model::LogitLoss loss_;
  const model::FiniteWatch watch_;
  model::SplitEnd end_;
  device::Mirror<float> probabilities_;                  // of a slice
  std::unique_ptr<split::SplitPolicy> before_, behind_;  // null at the model's ends
  std::unique_ptr<split::SplitPolicy> whole_;
  std::vector<model::SplitCounts> counts_;  // per split
};

}  // namespace weir::worker
