// Selection of one layer on a card, in its steady state: every step has the same gradient, and
// residuals begin anywhere between their last leaving and their next.
//
// Thread rule: one thread. Borrows the card.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "common/device/buffers.h"
#include "tools/bench/card.h"

namespace weir::bench {

std::vector<kernels::StripePlace> StripesOfOneLayer(size_t element_count);

class CardSelection {
 public:
  // density: the share that leaves in a step.
  CardSelection(const Card& card, int64_t element_count, double density);

  device::Stream& stream() const { return *stream_; }

  // Enqueues residual += gradient and the selection of what reaches the threshold.
  void Step();
  // The same of what reaches the magnitude of so large a rank, which is looked for first; what
  // ties with it leaves, too. Waits for the magnitude, as a step of training does.
  Status TopStep(uint32_t rank);

  // One more step is a plain loop's, bit for bit: what leaves, and what stays.
  Status CheckStep();
  Status CheckTopStep(uint32_t rank);

 private:
  struct Expected {
    std::vector<uint32_t> ends;
    std::vector<uint16_t> offsets;
    std::vector<float> values, residual;
  };

  void PlaceStripes();
  void FillIn(double density);
  kernels::StripesView stripes() const;
  std::vector<float> Download(device::Span<const float> values) const;
  // gradient + residual, as the next step has it.
  std::vector<float> Accumulated() const;
  static Expected PlainLoop(std::vector<float> accumulated, float least);
  Status Compare(const Expected& expected) const;

  const kernels::Compute compute_;
  const size_t count_;
  const std::unique_ptr<device::Stream> stream_;
  device::Buffer<float> gradient_, residual_, values_;
  device::Buffer<uint16_t> offsets_;
  device::Mirror<uint32_t> ends_;
  device::Buffer<double> discarded_;
  device::Mirror<kernels::StripePlace> places_;
  device::Mirror<kernels::LayerPlan> plan_;
  device::Mirror<kernels::LayerRank> rank_;
};

}  // namespace weir::bench
