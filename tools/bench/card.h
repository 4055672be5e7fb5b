// The card that sections measure, and the time that work takes there. Only main knows how a card is
// opened: whatever it hands over that computes, an emulated card too, can be measured.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/base/status.h"
#include "common/kernels/compute.h"
#include "tools/bench/section.h"

namespace weir::bench {

struct Card {
  std::unique_ptr<device::Device> device;
  kernels::Compute compute;
};

// With the card that the options name, of one part of a section: its memory is given back.
Result<Card> OpenCardOf(const Options& options, kernels::Precision precision, int64_t batch_rows);

// The median seconds of what `enqueue` enqueues, so often that its start counts for nothing: what
// the host takes to enqueue it is in it where that is longer. Not less than 0 for any work.
Result<double> CardSeconds(device::Stream& stream, const Options& options,
                           const std::function<void()>& enqueue);

// Bytes a second of a copy within the card's memory, each byte read and written.
Result<double> CopyBandwidth(const Card& card, const Options& options);

}  // namespace weir::bench
