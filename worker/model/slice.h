// Rows of a batch that are computed together, and where their activations are: buffers of the model
// hold a whole block's, features by samples, and a slice has some of the columns.
//
// Place in the life of a batch: forward and backward.
// Thread rule: a value.
#pragma once

#include <cstdint>

#include "common/kernels/views.h"
#include "common/tensor/aligned_buffer.h"

namespace weir::model {

struct Slice {
  int64_t begin = 0;  // the first row, counted in the batch
  int64_t row_count = 0;
  int64_t column = 0;  // the first row, counted in the block
  int64_t stride = 0;  // floats between two features of the block's buffers
};

// The slice's part of a buffer, [features, slice.row_count].
inline kernels::MatrixView SliceOf(tensor::AlignedBuffer& block, int64_t features,
                                   const Slice& slice) {
  return {block.data() + slice.column, features, slice.row_count, slice.stride};
}
inline kernels::ConstMatrixView SliceOf(const tensor::AlignedBuffer& block, int64_t features,
                                        const Slice& slice) {
  return {block.data() + slice.column, features, slice.row_count, slice.stride};
}

}  // namespace weir::model
