// Rows of a batch that are computed together. Buffers of the model hold a slice's activations,
// features by samples, and are as wide as the slice: the closer a feature's row is to the next one,
// the fewer pages a tile touches.
//
// Place in the life of a batch: forward and backward.
// Thread rule: a value.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/kernels/views.h"
#include "common/layout/message_bound.h"
#include "common/tensor/aligned_buffer.h"

namespace weir::model {

struct Slice {
  int64_t begin = 0;  // the first row, counted in the batch
  int64_t row_count = 0;
  uint32_t number = 0;  // of the batch's slices
};

// Rows of a slice, but for a batch's last.
inline constexpr int64_t kSliceRows = 128;
static_assert(kSliceRows >= kLeastSliceRows);

inline Slice SliceAt(int64_t batch_rows, int64_t begin) {
  return {begin, std::min(kSliceRows, batch_rows - begin),
          static_cast<uint32_t>(begin / kSliceRows)};
}

// A buffer as the slice uses it, [features, slice.row_count].
inline kernels::MatrixView SliceOf(tensor::AlignedBuffer& buffer, int64_t features,
                                   const Slice& slice) {
  return {buffer.data(), features, slice.row_count, kernels::PaddedStride(slice.row_count)};
}
inline kernels::ConstMatrixView SliceOf(const tensor::AlignedBuffer& buffer, int64_t features,
                                        const Slice& slice) {
  return {buffer.data(), features, slice.row_count, kernels::PaddedStride(slice.row_count)};
}

}  // namespace weir::model
