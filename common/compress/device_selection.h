// What left of the layers in a step on a device, where the host can read it.
//
// Place in the life of a batch: residual += gradient -> **select** -> encode -> push.
// Thread rule: one thread's; reused. Owns the copies, which grow to the largest step so far.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/compress/policy.h"
#include "common/device/buffers.h"

namespace weir::compress {

class DeviceSelection {
 public:
  struct Stripe {
    std::span<const uint16_t> offsets;
    std::span<const float> values;
  };
  // stripe: counted through all layers (DeviceSelector::first_stripe).
  Stripe stripe(size_t stripe) const {
    const uint32_t begin = stripe == 0 ? 0 : ends.host()[stripe - 1];
    const uint32_t count = ends.host()[stripe] - begin;
    return {std::span<const uint16_t>(offsets_.span()).subspan(begin, count),
            std::span<const float>(values_.span()).subspan(begin, count)};
  }

  // For a step of so many stripes.
  void MakeRoom(device::Device& device, size_t stripe_count);
  // All that left: offsets and values of stripes as `ends` has them on the device. Waits for the
  // stream; mostly once, for as many as left in the step before come with the word how many there
  // are.
  Status Download(device::Device& device, device::Stream& stream,
                  device::Span<const uint16_t> offsets, device::Span<const float> values);

  std::vector<StepPlan> plans;       // by layer
  std::vector<bool> is_dense;        // by layer: every element left, and offsets say nothing
  device::Mirror<uint32_t> ends;     // by stripe
  device::Mirror<double> discarded;  // by stripe

 private:
  device::PinnedBuffer<uint16_t> offsets_;
  device::PinnedBuffer<float> values_;
  size_t last_count_ = 0;  // of values
};

}  // namespace weir::compress
