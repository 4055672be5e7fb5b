// Borrowed shapes over floats and indexes: what every kernel takes instead of pointers and counts.
//
// Row-major; element (r, c) is data[r * stride + c] and stride >= columns, so a view can be some
// rows of a buffer whose rows are padded (one table's vectors among all of them). What lies turned,
// column after column, says so. A view owns nothing. It is of the host's memory (MatrixView) or of
// a device's (DeviceMatrix), which are different types: common/device/pointer.h.
//
// Place in the life of a batch: forward, loss and backward.
// Thread rule: values. C++17-clean, so that a CUDA compiler can include it.
#pragma once

#include <cstdint>

#include "common/device/pointer.h"

namespace weir::kernels {

template <typename T>
using HostPointer = T*;

template <template <typename> class Pointer>
struct BasicMatrix {
  Pointer<float> data = nullptr;
  int64_t row_count = 0;
  int64_t column_count = 0;
  int64_t stride = 0;
  // Element (r, c) is data[c * stride + r]. Behind all there are its signs (SignsStride).
  bool is_turned = false;

  // Where it is turned, column.
  Pointer<float> row(int64_t index) const { return data + index * stride; }
};

template <template <typename> class Pointer>
struct BasicConstMatrix {
  BasicConstMatrix() = default;
  BasicConstMatrix(Pointer<const float> data_in, int64_t rows, int64_t columns, int64_t stride_in)
      : data(data_in), row_count(rows), column_count(columns), stride(stride_in) {}
  BasicConstMatrix(const BasicMatrix<Pointer>& view)  // NOLINT: what can be written can be read
      : data(view.data),
        row_count(view.row_count),
        column_count(view.column_count),
        stride(view.stride),
        is_turned(view.is_turned) {}

  Pointer<const float> row(int64_t index) const { return data + index * stride; }

  Pointer<const float> data = nullptr;
  int64_t row_count = 0;
  int64_t column_count = 0;
  int64_t stride = 0;
  bool is_turned = false;
};

template <template <typename> class Pointer>
struct BasicVector {
  Pointer<float> data = nullptr;
  int64_t count = 0;
};

template <template <typename> class Pointer>
struct BasicConstVector {
  BasicConstVector() = default;
  BasicConstVector(Pointer<const float> data_in, int64_t count_in)
      : data(data_in), count(count_in) {}
  BasicConstVector(const BasicVector<Pointer>& view)  // NOLINT: what can be written can be read
      : data(view.data), count(view.count) {}

  Pointer<const float> data = nullptr;
  int64_t count = 0;
};

using MatrixView = BasicMatrix<HostPointer>;
using ConstMatrixView = BasicConstMatrix<HostPointer>;
using VectorView = BasicVector<HostPointer>;
using ConstVectorView = BasicConstVector<HostPointer>;

using DeviceMatrix = BasicMatrix<device::Pointer>;
using ConstDeviceMatrix = BasicConstMatrix<device::Pointer>;
using DeviceVector = BasicVector<device::Pointer>;
using ConstDeviceVector = BasicConstVector<device::Pointer>;

// Floats of a vector register; kernels may compute on whole ones.
inline constexpr int64_t kVectorFloats = 8;

// The distance between rows at which a buffer of activations is fastest: whole cache lines, and no
// multiple of 512 bytes, for then the rows of a tile would compete for a few cache sets.
inline int64_t PaddedStride(int64_t columns) {
  const int64_t aligned = (columns + 15) / 16 * 16;
  return aligned % 128 == 0 ? aligned + 16 : aligned;
}

// A turned matrix of so many rows: its columns are whole vectors of 16 bytes, and behind the last
// one begin the signs of what a ReLU made, a bit an element: 1 where the ReLU let it pass. Each
// column's are whole groups of 128.
inline int64_t TurnedStride(int64_t rows) { return (rows + 3) / 4 * 4; }
inline int64_t SignsStride(int64_t rows) { return (rows + 127) / 128 * 4; }  // words
inline int64_t TurnedFloats(int64_t rows, int64_t columns) {
  return columns * (TurnedStride(rows) + SignsStride(rows));
}

// Rows that lie one after the other.
inline MatrixView Dense(float* data, int64_t rows, int64_t columns) {
  return {data, rows, columns, columns};
}
inline ConstMatrixView Dense(const float* data, int64_t rows, int64_t columns) {
  return {data, rows, columns, columns};
}
inline DeviceMatrix Dense(device::Pointer<float> data, int64_t rows, int64_t columns) {
  return {data, rows, columns, columns};
}
inline ConstDeviceMatrix Dense(device::Pointer<const float> data, int64_t rows, int64_t columns) {
  return {data, rows, columns, columns};
}

}  // namespace weir::kernels
