// Split policies that keep of each sample the largest, as a device with memory of its own sees
// them: it selects (common/kernels/split_table.h), and the frames are made of what it selected.
//
// Place in the life of a batch: forward -> select -> **encode -> decode** -> forward; and back.
// Thread rule: as SplitPolicy, one of which this is a part.
#pragma once

#include <cstdint>
#include <span>

#include "common/base/status.h"
#include "common/split/split_policy.h"

namespace weir::split {

class DeviceSplit {
 public:
  virtual ~DeviceSplit() = default;

  // How many of so many features a sample keeps.
  virtual int64_t KeptOf(int64_t features) const = 0;

  // SendForward and TakeForward of a block of so many elements, of what was or is to be chosen: by
  // memory's positions.
  virtual void SendChosen(const BlockName& name, int64_t element_count,
                          std::span<const uint32_t> positions, std::span<const float> values,
                          std::span<const float> thresholds, BlockMemory* memory, Bytes* out) = 0;
  virtual Result<std::span<const float>> TakeChosen(const BlockName& name,
                                                    const wire::FrameView& frame,
                                                    int64_t element_count, BlockMemory* memory) = 0;

  // SendBackward and TakeBackward, of the values at memory's positions.
  virtual void SendKept(const BlockName& name, std::span<const float> values, Bytes* out) = 0;
  virtual Result<std::span<const float>> TakeKept(const BlockName& name,
                                                  const wire::FrameView& frame,
                                                  const BlockMemory& memory) = 0;
};

}  // namespace weir::split
