// What a device with memory of its own computes for policies, of all layers at a time: as
// kernel_table.h for the network. The CPU has no such table: there a policy takes stripe after
// stripe (common/compress/select_kernels.h).
//
// Place in the life of a batch: backward -> **residual += gradient -> select** -> encode -> push.
// Thread rule: as kernel_table.h. The residual is one step's at a time. C++17-clean, so that a CUDA
// compiler can include it.
#pragma once

#include <cstdint>

#include "common/device/pointer.h"

namespace weir::device {
class Stream;
}  // namespace weir::device

namespace weir::kernels {

// A stripe of a layer in flat buffers of gradients and residuals.
struct StripePlace {
  int64_t begin = 0;
  uint32_t length = 0;  // at most kStripeElements
  uint32_t layer = 0;
  uint32_t first = 0;  // its first element's number in the layer
};

struct StripesView {
  device::Pointer<const StripePlace> stripes;
  int64_t count = 0;
};

// How a step selects from a layer.
struct LayerPlan {
  // What leaves: magnitudes that reach this, which is above 0, and NaN unless it is kept. 0:
  // nothing.
  float least = 0;
  uint32_t keeps_nan = 0;
  // Above 0: magnitudes above it leave so much, of their sign, instead of all; NaN does not.
  float quantum = 0;
  // 1: values are rounded to bfloat16 (wire::RoundToBf16), and what that takes off stays. What
  // rounds to 0 does not leave.
  uint32_t rounds_to_bf16 = 0;
  // Elements of the layer from here on that just reach `least` do not leave.
  uint32_t tie_end = UINT32_MAX;
};

// The rank-th largest magnitude of a layer, of what is a number and not zero; where there are fewer
// such, the least of them.
struct LayerRank {
  uint32_t rank = 0;            // given; 0: nobody asks
  uint32_t magnitude_bits = 0;  // of the float; 0: there is none
  uint32_t ties_wanted = 0;     // so many of those that large are among the largest
  uint32_t ties = 0;            // of so many
};

// What left, stripe after stripe: of stripe i the elements [ends[i - 1], ends[i]), by their offsets
// in it, ascending, with their values. Room for all elements.
struct SelectedView {
  device::Pointer<uint32_t> ends;
  device::Pointer<uint16_t> offsets;
  device::Pointer<float> values;
};

struct SelectTable {
  // residual += gradient, and what the plan of each stripe's layer says leaves it.
  void (*accumulate_and_select)(device::Stream&, const StripesView& stripes,
                                device::Pointer<const LayerPlan> plans,
                                device::Pointer<const float> gradient,
                                device::Pointer<float> residual, const SelectedView& selected);

  // residual += gradient.
  void (*accumulate)(device::Stream&, const StripesView& stripes,
                     device::Pointer<const float> gradient, device::Pointer<float> residual);

  // Of |gradient + residual|, for each layer that asks.
  void (*find_ranks)(device::Stream&, const StripesView& stripes, device::Pointer<LayerRank> ranks,
                     int64_t layer_count, device::Pointer<const float> gradient,
                     device::Pointer<const float> residual);

  // magnitudes[i] = |gradient + residual| at places[i] of the flat buffers.
  void (*gather_magnitudes)(device::Stream&, device::Pointer<const uint32_t> places, int64_t count,
                            device::Pointer<const float> gradient,
                            device::Pointer<const float> residual,
                            device::Pointer<float> magnitudes);
};

}  // namespace weir::kernels
