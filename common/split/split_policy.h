// Decides what of a block of activations crosses a split between two stages, and what of its
// gradient comes back.
//
// Both ends have a policy object made of the same config. Forward, the sending end writes one frame
// a block and the other makes a block of it; backward the same the other way. What both must
// remember between is a BlockMemory, which lives with the batch that is under way.
//
// Place in the life of a batch: forward -> **select, encode -> decode** -> forward of the next
// stage; and the same for gradients on the way back. There is no residual but where a policy says
// so. Thread rule: thread-compatible; each thread has its own objects.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/kernels/kernel_table.h"
#include "common/proto/config.pb.h"
#include "common/split/block_frames.h"
#include "common/wire/frame.h"

namespace weir::split {

// Of one block, from its forward frame to its backward one; each end has its own.
struct BlockMemory {
  std::vector<uint32_t> kept;  // positions
};

class DeviceSplit;

class SplitPolicy {
 public:
  virtual ~SplitPolicy() = default;

  // x: [features, samples], read as ChooseLargest does.
  virtual void SendForward(const BlockName& name, const kernels::ConstMatrixView& x,
                           BlockMemory* memory, Bytes* out) = 0;
  // x: overwritten. Fails when the frame is not what SendForward writes for this block.
  virtual Status TakeForward(const BlockName& name, const wire::FrameView& frame,
                             const kernels::MatrixView& x, BlockMemory* memory) = 0;

  // The same for the block's gradient, from the end that took it to the one that sent it.
  virtual void SendBackward(const BlockName& name, const kernels::ConstMatrixView& gradient,
                            const BlockMemory& memory, Bytes* out) = 0;
  virtual Status TakeBackward(const BlockName& name, const wire::FrameView& frame,
                              const BlockMemory& memory, const kernels::MatrixView& gradient) = 0;

  // Itself, where a device can select for it (device_split.h); else null.
  virtual DeviceSplit* on_device() { return nullptr; }

  // Of the last SendForward: elements sent, and the mean over samples of the least magnitude kept.
  uint64_t sent_count() const { return sent_count_; }
  std::optional<double> threshold() const { return threshold_; }

 protected:
  uint64_t sent_count_ = 0;
  std::optional<double> threshold_;
};

// split: valid, with defaults filled in. seed: of the run. kernels: outlive the policy.
std::unique_ptr<SplitPolicy> MakeSplitPolicy(const v1::SplitConfig& split, uint64_t seed,
                                             const kernels::KernelTable& kernels);

// Sends everything as it is: for evaluation without masks.
std::unique_ptr<SplitPolicy> MakeWholePolicy();

// As the config has it ("dct_mp").
std::string SplitPolicyName(const v1::SplitConfig& split);

// Whether what TakeForward gives is what SendForward got, but for the rounding of values.
bool SendsAll(const v1::SplitConfig& split);

// Whether what TakeForward gives of a sample depends on that sample alone, and not on chance or on
// what is computed beside it.
bool IsOfSampleAlone(const v1::SplitConfig& split);

}  // namespace weir::split
