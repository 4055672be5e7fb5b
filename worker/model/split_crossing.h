// A split between two stages of one thread: what a stage gives goes through the split's policy and
// its frames, as over a network, and becomes the next stage's input.
//
// Place in the life of a batch: forward -> **select, encode, decode** -> forward; and backward.
// Thread rule: thread-compatible. Move-only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/split/split_policy.h"
#include "worker/model/slice.h"
#include "worker/model/split_counts.h"
#include "worker/model/split_end.h"
#include "worker/model/stage.h"

namespace weir::model {

class SplitCrossing {
 public:
  // index: of the split. seed: of its policy's random choices.
  SplitCrossing(const ModelLayout& layout, uint32_t index, uint64_t seed,
                const kernels::Compute& compute);

  // split::IsOfSampleAlone, of its policy.
  bool is_of_sample_alone() const { return is_of_sample_alone_; }

  // What follows belongs to another batch.
  void NextBatch() { ++batch_; }

  // From one stage's output to the next one's input.
  Status Forward(device::Stream& stream, const Slice& slice, Stage* from, Stage* to);
  // The same with nothing left out.
  Status ForwardWhole(device::Stream& stream, const Slice& slice, Stage* from, Stage* to);
  // From the gradient of the later stage's input to that of the earlier one's output. After Forward
  // of the same slice.
  Status Backward(device::Stream& stream, const Slice& slice, Stage* from, Stage* to);

  // Of Forward with a Backward behind it, since this was asked for the last time.
  SplitCounts TakeCounts();

 private:
  Status Cross(device::Stream& stream, const Slice& slice, split::SplitPolicy& policy, Stage* from,
               Stage* to);
  SplitCross Named(std::vector<split::BlockMemory>& memory, split::SplitPolicy& policy) const {
    return {batch_, index_, policy, memory};
  }
  Bytes* NextWritten();
  Result<wire::FrameView> NextRead();

  std::unique_ptr<split::SplitPolicy> policy_, whole_;
  bool is_of_sample_alone_;
  uint32_t index_;
  uint64_t batch_ = 0;
  SplitEnd end_;
  std::vector<split::BlockMemory> sender_, receiver_;  // by frame
  std::vector<Bytes> frames_;
  size_t written_ = 0, read_ = 0;
  SplitCounts forward_;  // of the last Forward
  SplitCounts counts_;
};

}  // namespace weir::model
