// What a device with memory of its own computes for policies, of all layers at a time: as
// kernel_table.h for the network. The CPU has no such table: there a policy takes stripe after
// stripe (common/compress/select_kernels.h).
//
// Place in the life of a batch: backward -> **residual += gradient -> select** -> encode -> push.
// Thread rule: as kernel_table.h. The residual is one step's at a time; square sums may be added to
// meanwhile (common/compress/square_sums.h). C++17-clean, so that a CUDA compiler can include it.
#pragma once

#include <cstdint>

#include "common/device/pointer.h"
#include "common/kernels/select_plans.h"

namespace weir::device {
class Stream;
}  // namespace weir::device

namespace weir::kernels {

struct SelectTable {
  // residual += gradient, and what the plan of each stripe's layer says leaves it.
  void (*accumulate_and_select)(device::Stream&, const StripesView& stripes,
                                device::Pointer<const LayerPlan> plans, const SelectFrom& from,
                                const SelectedView& selected);

  // Behind that: thresholds that plans have taken, corrected by how much left. ends: by stripe.
  void (*correct_thresholds)(device::Stream&, device::Pointer<const LayerPlan> plans,
                             int64_t layer_count, device::Pointer<const uint32_t> ends,
                             device::Pointer<LayerThreshold> thresholds);

  // residual += gradient.
  void (*accumulate)(device::Stream&, const StripesView& stripes,
                     device::Pointer<const float> gradient, device::Pointer<float> residual);

  // Of |gradient + residual|, or of |gradient| where residual is null, for each layer that asks.
  // thresholds: of the layers that ask, recomputed; null: nobody's.
  void (*find_ranks)(device::Stream&, const StripesView& stripes, device::Pointer<LayerRank> ranks,
                     int64_t layer_count, device::Pointer<const float> gradient,
                     device::Pointer<const float> residual,
                     device::Pointer<LayerThreshold> thresholds);
  // Of |gradient + residual|, for each layer that asks.
  void (*find_largest)(device::Stream&, const StripesView& stripes,
                       device::Pointer<LayerLargest> largest, const SelectFrom& from);

  // Of gradient, or gradient + residual, for each layer that asks.
  void (*sum_buckets)(device::Stream&, const StripesView& stripes,
                      device::Pointer<const LayerBuckets> layers, const SelectFrom& from,
                      device::Pointer<BucketSums> sums);

  // magnitudes[i] = |gradient + residual| at places[i] of the flat buffers.
  void (*gather_magnitudes)(device::Stream&, device::Pointer<const uint32_t> places, int64_t count,
                            device::Pointer<const float> gradient,
                            device::Pointer<const float> residual,
                            device::Pointer<float> magnitudes);

  // values[i] = what is at places[i] of the residual, rounded to bfloat16 (wire::RoundToBf16) where
  // it says so, whatever that is; the residual keeps the rest. No place comes twice.
  void (*take_values)(device::Stream&, device::Pointer<const uint32_t> places, int64_t count,
                      bool rounds_to_bf16, device::Pointer<float> residual,
                      device::Pointer<float> values);
};

}  // namespace weir::kernels
