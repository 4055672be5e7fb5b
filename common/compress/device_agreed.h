// The layers of one rule whose trainers agree on what leaves, on a device with memory of its own:
// there are their residuals, what is proposed is found there, and what all have agreed on is taken
// there. The dense gradient stays; indexes go, and of what was agreed the values.
//
// Place in the life of a batch: residual += gradient -> propose -> **take** -> encode -> push.
// Thread rule: Begin to taken of one step at a time; Accumulate of any thread, each with its own
// stream. Grows to the largest union so far. Borrows the device and what layers name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/compress/device_range_select.h"
#include "common/compress/device_residuals.h"
#include "common/device/buffers.h"

namespace weir::compress {

class DeviceAgreed {
 public:
  // layers: of one rule. flat_element_count: of gradients.
  DeviceAgreed(const kernels::Compute& compute, std::vector<DeviceLayer> layers,
               int64_t flat_element_count)
      : residuals_(compute, std::move(layers), flat_element_count), select_(&residuals_) {}

  // residual += gradient, of a step whose stream has the gradients, flat. Waits for it. Internal,
  // with the name of the layer, where a gradient that must be finite is not.
  Status Begin(device::Stream& stream, device::Pointer<const float> gradients) {
    select_.Begin(&stream);
    return residuals_.Accumulate(stream, gradients);
  }
  // For that step's proposer, which is not told of failures.
  RangeSelect& residuals() { return select_; }
  const Status& status() const { return select_.status(); }

  // Takes those elements whole, of each layer, ascending, whatever they are. With values in
  // bfloat16 they leave as wire::RoundToBf16 has them, and what that takes off stays. Waits.
  Status Take(device::Stream& stream, std::span<const std::vector<uint32_t>> agreed);
  // Of the last Take, in the order of agreed.
  std::span<const float> taken(size_t layer) const {
    const size_t begin = layer == 0 ? 0 : ends_[layer - 1];
    return values_.host().subspan(begin, ends_[layer] - begin);
  }

  // A step without a push; fails as Begin does.
  Status Accumulate(device::Stream& stream, device::Pointer<const float> gradients) {
    return residuals_.Accumulate(stream, gradients);
  }

  // A layer's residual; when no thread takes steps.
  Status ReadState(size_t layer, std::vector<float>* residual) const;
  Status WriteState(size_t layer, std::span<const float> residual) const;

 private:
  void Place(std::span<const std::vector<uint32_t>> agreed);

  DeviceResiduals residuals_;
  DeviceRangeSelect select_;
  std::vector<size_t> ends_;  // by layer, of what was agreed
  device::Mirror<uint32_t> places_;
  device::Mirror<float> values_;
};

}  // namespace weir::compress
