// Views as kernels take them: a device's addresses, taken out. What lies turned is its transpose
// here, whose rows are samples.
//
// Place in the life of a batch: forward, loss, backward and what follows until the push.
// Thread rule: values.
#pragma once

#include <cstdint>

#include "common/kernels/views.h"
#include "gpu/cuda.h"

namespace weir::gpu {

template <typename Float>
struct RawMatrix {
  Float* data;
  int64_t row_count, column_count, stride;

  __device__ __host__ Float& at(int64_t row, int64_t column) const {
    return data[row * stride + column];
  }
};

// Of a turned matrix, [samples, features]: the first sample's signs; the next one's are
// kernels::SignsStride words behind.
inline uint32_t* SignsOf(const RawMatrix<float>& turned) {
  return reinterpret_cast<uint32_t*>(turned.data + turned.row_count * turned.stride);
}
inline const uint32_t* SignsOf(const RawMatrix<const float>& turned) {
  return reinterpret_cast<const uint32_t*>(turned.data + turned.row_count * turned.stride);
}

inline unsigned BlocksFor(int64_t count, int64_t per_block) {
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}

}  // namespace weir::gpu
