// Rows of a batch that are computed together. Buffers of the model hold a slice's activations,
// features by samples, and are as wide as the slice: the closer a feature's row is to the next one,
// the fewer pages a tile touches.
//
// Place in the life of a batch: forward and backward.
// Thread rule: a value.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/device/buffers.h"
#include "common/kernels/compute.h"
#include "common/layout/message_bound.h"

namespace weir::model {

struct Slice {
  int64_t begin = 0;  // the first row, counted in the batch
  int64_t row_count = 0;
  uint32_t number = 0;  // of the batch's slices
};

// Of a slice at whose borders something crosses a split. Elsewhere the device says how many
// (Compute::slice_rows).
using weir::kSplitRows;

inline Slice SliceAt(int64_t batch_rows, int64_t begin, int64_t slice_rows) {
  return {begin, std::min(slice_rows, batch_rows - begin),
          static_cast<uint32_t>(begin / slice_rows)};
}

inline bool IsLast(const Slice& slice, int64_t batch_rows) {
  return slice.begin + slice.row_count == batch_rows;
}

// Room for a slice's activations.
inline device::Buffer<float> MakeActivations(device::Device& device, int64_t features,
                                             int64_t max_samples) {
  return {device, static_cast<size_t>(features * kernels::PaddedStride(max_samples)),
          "activations"};
}

// A buffer as the slice uses it, [features, slice.row_count].
inline kernels::DeviceMatrix SliceOf(const device::Buffer<float>& buffer, int64_t features,
                                     const Slice& slice) {
  return {buffer.data(), features, slice.row_count, kernels::PaddedStride(slice.row_count)};
}

// The same of what hidden layers give, which a device may have turned (Compute::turns_hidden).
inline device::Buffer<float> MakeHidden(const kernels::Compute& compute, int64_t features,
                                        int64_t max_samples) {
  if (!compute.turns_hidden) return MakeActivations(*compute.device, features, max_samples);
  return {*compute.device, static_cast<size_t>(kernels::TurnedFloats(features, max_samples)),
          "activations"};
}
inline kernels::DeviceMatrix HiddenSliceOf(const device::Buffer<float>& buffer, int64_t features,
                                           const Slice& slice, bool is_turned) {
  if (!is_turned) return SliceOf(buffer, features, slice);
  return {buffer.data(), features, slice.row_count, kernels::TurnedStride(features), true};
}

}  // namespace weir::model
