// What a device is told and tells where it selects from whole layers for policies
// (select_table.h).
//
// Place in the life of a batch: backward -> **threshold** -> residual += gradient -> select.
// Thread rule: values. C++17-clean, so that a CUDA compiler can include it.
#pragma once

#include <cstdint>

#include "common/device/pointer.h"
#include "common/kernels/controlled_threshold.h"

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

// Flat, each layer's at its place. scales: one after the other (LayerPlan::first_scale).
// thresholds: by layer; null: no plan takes one.
struct SelectFrom {
  device::Pointer<const float> gradient;
  device::Pointer<float> residual;
  device::Pointer<float> square_sums;  // null: no policy keeps any
  device::Pointer<const float> scales;
  device::Pointer<LayerThreshold> thresholds = {};
};

// What leaves a sum of gradient and residual, and as what.
enum class Taking : uint32_t {
  kNothing,
  kReaching,       // what reaches `least`, whole
  kQuanta,         // of what is above `quantum` so much, of its sign
  kPassingQuanta,  // the same of what also passes the variance's test (variance_select.h)
  kPassingPowers,  // of what passes a power of two (common/compress/powers.h)
  kLevels,         // a multiple of the bucket's scale, by chance (stochastic_levels.h)
  kMeans,          // every element, as its bucket's mean of its sign (one_bit.cc)
  kChosen,         // what chance chooses, whole (chosen_offsets.h)
  kAll             // every element, whole
};

// How a step selects from a layer.
struct LayerPlan {
  Taking taking = Taking::kNothing;
  uint32_t has_residual = 1;     // 0: gradients alone; there is no residual
  float least = 0;               // above 0; NaN reaches it, unless it is kept
  uint32_t takes_threshold = 0;  // 1: `least` is the LayerThreshold; without one nothing leaves
  uint32_t keeps_nan = 0;
  // Elements of the layer from here on that just reach `least` do not leave.
  uint32_t tie_end = UINT32_MAX;
  // 1: what leaves whole is rounded to bfloat16 (wire::RoundToBf16), and what that takes off stays.
  // What rounds to 0 does not leave.
  uint32_t rounds_to_bf16 = 0;
  float quantum = 0;            // of powers the largest
  float alpha = 0;              // passes: sum^2 > alpha times its square sum
  uint32_t corrects_after = 0;  // square sums, by what is left (hybrid.cc)
  uint32_t keeps_what_is_out_of_reach = 0, keeps_rounding = 0;  // of powers
  // Buckets of 2^bucket_log2 elements have a scale each, or two where means are of either sign.
  uint32_t first_scale = 0, bucket_log2 = 0, most_levels = 0;
  double density = 0;
  uint64_t chance = 0;  // key of the layer's draws in this step; a stripe's number follows
};

// The rank-th largest magnitude of a layer or of a sample of it, of what is a number and not zero;
// where there are fewer such, the least of them.
struct LayerRank {
  uint32_t is_asked = 0;        // given, as the next three
  uint32_t rank = 0, more = 0;  // 0: `more` beyond what the sparsity leaves of what is a number,
  double sparsity = 0;          // zeros among it (common/compress/kept_count.h)
  uint32_t magnitude_bits = 0;  // of the float; 0: there is none
  uint32_t ties_wanted = 0;     // so many of those that large are among the largest
  uint32_t ties = 0;            // of so many
};

// The largest magnitudes of a layer, as bits of floats: of what passes the variance's test, and of
// all that is finite.
struct LayerLargest {
  uint32_t is_asked = 0;  // given
  float alpha = 0;        // given
  uint32_t passing_bits = 0;
  uint32_t finite_bits = 0;
};

// Whose buckets are summed, of which size, and where their sums begin.
struct LayerBuckets {
  uint32_t bucket_log2 = 0;  // 0: nobody asks
  uint32_t has_residual = 0;
  uint32_t first = 0;
};

// Of a few elements. What is no number makes a sum that is none; largest leaves it out.
struct BucketSums {
  double sum = 0;
  double square_sum = 0;
  float largest = 0;  // magnitude
  // Of the elements below zero.
  double minus_sum = 0;
  int64_t minus_count = 0;
};

// What left, stripe after stripe: of stripe i the elements [ends[i - 1], ends[i]), by their offsets
// in it, ascending, with their values. Room for all elements. discarded: of each stripe the
// magnitudes that are neither sent nor kept.
struct SelectedView {
  device::Pointer<uint32_t> ends;
  device::Pointer<uint16_t> offsets;
  device::Pointer<float> values;
  device::Pointer<double> discarded;
};

}  // namespace weir::kernels
