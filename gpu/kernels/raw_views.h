// Views as kernels take them: a device's addresses, taken out.
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

inline RawMatrix<float> Raw(const kernels::DeviceMatrix& view) {
  return {view.data.address(), view.row_count, view.column_count, view.stride};
}
inline RawMatrix<const float> Raw(const kernels::ConstDeviceMatrix& view) {
  return {view.data.address(), view.row_count, view.column_count, view.stride};
}

inline unsigned BlocksFor(int64_t count, int64_t per_block) {
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}

}  // namespace weir::gpu
