// What a device with memory of its own computes for splits between stages: as select_table.h for
// policies of gradients. The CPU has no such table (common/split/largest_per_sample.h).
//
// Place in the life of a batch: forward -> **select** -> the next stage; and back.
// Thread rule: as kernel_table.h. C++17-clean, so that a CUDA compiler can include it.
#pragma once

#include <cstdint>

#include "common/device/pointer.h"
#include "common/kernels/views.h"

namespace weir::device {
class Stream;
}  // namespace weir::device

namespace weir::kernels {

// Elements of a block [features, samples] that is cut into parts of so many samples, the last one
// shorter: part after part, those of part i up to ends[i], each by its position in the part,
// feature * the part's samples + sample, ascending. Room for all elements.
struct ChosenView {
  device::Pointer<uint32_t> ends;
  device::Pointer<uint32_t> positions;
  device::Pointer<float> values;
  device::Pointer<float> thresholds;  // of each sample the least magnitude kept; 0: all but zeros
};

struct SplitTable {
  // Of each sample the `keep` largest magnitudes and what equals the least of them, never zeros;
  // NaN is larger than everything (ChooseLargest). keep: at least 1, at most the features.
  void (*choose_largest)(device::Stream&, const ConstDeviceMatrix& block, int64_t keep,
                         int64_t part_samples, const ChosenView& chosen);

  // to[i] = from[indexes[i]].
  void (*gather_values)(device::Stream&, device::Pointer<const float> from,
                        device::Pointer<const uint32_t> indexes, const DeviceVector& to);
};

}  // namespace weir::kernels
