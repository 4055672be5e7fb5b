// A split between two stages of one thread: what a stage gives goes through the split's policy and
// its frames, as over a network, and becomes the next stage's input.
//
// Place in the life of a batch: forward -> **select, encode, decode** -> forward; and backward.
// Thread rule: thread-compatible. Move-only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/proto/report.pb.h"
#include "common/split/split_policy.h"
#include "worker/model/host_block.h"
#include "worker/model/slice.h"
#include "worker/model/stage.h"

namespace weir::model {

// What crossed a split in training.
struct SplitCounts {
  uint64_t elements = 0;       // of the activations
  uint64_t elements_sent = 0;  // of them
  uint64_t forward_bytes = 0;  // frames
  uint64_t backward_bytes = 0;
  std::optional<double> threshold;  // of the last block (SplitPolicy::threshold)

  void Add(const SplitCounts& other);
  void FillReport(const v1::SplitConfig& split, v1::SplitReport* report) const;
};

class SplitCrossing {
 public:
  // index: of the split. seed: of its policy's random choices.
  SplitCrossing(const ModelLayout& layout, uint32_t index, uint64_t seed,
                const kernels::Compute& compute);

  // split::IsOfSampleAlone, of its policy.
  bool is_of_sample_alone() const { return is_of_sample_alone_; }

  // What follows belongs to another batch.
  void NextBatch() { ++name_.batch; }

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
  split::BlockName Name(const Slice& slice);

  std::unique_ptr<split::SplitPolicy> policy_;
  bool is_of_sample_alone_;
  split::BlockName name_;
  split::BlockMemory sender_, receiver_;
  HostBlock given_, taken_;
  uint64_t forward_bytes_ = 0;  // of the last Forward
  Bytes frame_;
  SplitCounts counts_;
};

}  // namespace weir::model
