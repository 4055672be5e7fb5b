// How many steps ago the elements of a layer were last sent: how old what a policy keeps becomes.
// Of a large layer one element in sixteen is looked at, so that telling costs nothing beside
// selecting.
//
// Place in the life of a batch: select -> **encode** -> push.
// Thread rule: any thread; what threads mark at once may be one step off.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace weir::worker {

class SentAges {
 public:
  explicit SentAges(int64_t element_count);

  // These elements of a stripe of the layer are sent in this step, counted from 1.
  void Mark(uint32_t stripe, std::span<const uint16_t> offsets, uint32_t step);
  void MarkAll(uint32_t stripe, uint32_t stripe_elements, uint32_t step);

  // Steps since an element was sent, of one that never was since the first: half of all elements
  // are no older than p50, and 99 % no older than p99. After so many steps.
  struct Quantiles {
    uint32_t p50 = 0, p99 = 0;
  };
  Quantiles After(uint32_t steps) const;

 private:
  const int64_t every_;
  const size_t count_;
  const std::unique_ptr<std::atomic<uint32_t>[]> steps_;  // of elements 0, every, 2 every, ...
};

}  // namespace weir::worker
