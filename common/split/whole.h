// Everything, both ways: the policy `none`, and what policies build on that leave one of the two
// ways as it is.
//
// Place in the life of a batch: between two stages, there and back.
// Thread rule: as SplitPolicy.
#pragma once

#include "common/split/block_frames.h"
#include "common/split/split_policy.h"
#include "common/wire/value_coding.h"

namespace weir::split {

class Whole : public SplitPolicy {
 public:
  explicit Whole(wire::ValueCoding values) : values_(values) {}

  void SendForward(const BlockName& name, const kernels::ConstMatrixView& x, BlockMemory* memory,
                   Bytes* out) override;
  Status TakeForward(const BlockName& name, const wire::FrameView& frame,
                     const kernels::MatrixView& x, BlockMemory* memory) override;
  void SendBackward(const BlockName& name, const kernels::ConstMatrixView& gradient,
                    const BlockMemory& memory, Bytes* out) override;
  Status TakeBackward(const BlockName& name, const wire::FrameView& frame,
                      const BlockMemory& memory, const kernels::MatrixView& gradient) override;

 protected:
  const wire::ValueCoding values_;
  BlockFrames frames_;
};

}  // namespace weir::split
