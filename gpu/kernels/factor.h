// A factor of a matrix product: where its elements lie.
//
// Place in the life of a batch: the products of linear layers.
// Thread rule: values.
#pragma once

#include "gpu/kernels/raw_views.h"

namespace weir::gpu {

// One factor of a product, [outer, depth]: element (i, k) of rows, or of columns when it is turned.
struct Factor {
  RawMatrix<const float> matrix;
  bool is_turned;  // (i, k) is at row k, column i

  __device__ float at(int64_t i, int64_t k) const {
    return is_turned ? matrix.at(k, i) : matrix.at(i, k);
  }
  __host__ __device__ int64_t outer() const {
    return is_turned ? matrix.column_count : matrix.row_count;
  }
  __host__ __device__ int64_t depth() const {
    return is_turned ? matrix.row_count : matrix.column_count;
  }
};

}  // namespace weir::gpu
