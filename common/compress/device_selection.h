// What left of the layers in a step on a device, where the host can read it.
//
// Copies are made in a stream of their own, so that neither the step's stream nor another step
// waits for them: first how many elements left, and then these, and no more of the room for them.
//
// Place in the life of a batch: residual += gradient -> **select** -> encode -> push.
// Thread rule: one thread's; reused. Owns the copies, which grow to the largest step so far. The
// device outlives it.
#pragma once

#include <cstdint>
#include <memory>
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

  // What the step's stream has of ends and discarded, once it has them. Waits for that.
  Status DownloadCounts(device::Stream& stream);
  // Begins to copy what left, as many as `ends` says, of the step whose counts are there. read:
  // recorded behind it.
  Status StartDownload(device::Span<const uint16_t> offsets, device::Span<const float> values,
                       device::Event* read);
  // Until it is there.
  Status Await() { return copies_->Synchronize(); }

  std::vector<StepPlan> plans;       // by layer
  std::vector<bool> is_dense;        // by layer: every element left, and offsets say nothing
  device::Mirror<uint32_t> ends;     // by stripe
  device::Mirror<double> discarded;  // by stripe

 private:
  device::Device* device_ = nullptr;
  device::PinnedBuffer<uint16_t> offsets_;
  device::PinnedBuffer<float> values_;
  std::unique_ptr<device::Event> selected_;
  std::unique_ptr<device::Stream> copies_;
};

}  // namespace weir::compress
