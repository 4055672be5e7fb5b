// Borrowed shapes over floats and indexes: what every kernel takes instead of pointers and counts.
//
// Row-major; element (r, c) is data[r * stride + c] and stride >= columns, so a view can be some
// rows of a buffer whose rows are padded (one table's vectors among all of them). A view owns
// nothing and says nothing about which device its memory is on: that is the kernel table's
// business.
//
// Place in the life of a batch: forward, loss and backward.
// Thread rule: values. C++17-clean, so that a CUDA compiler can include it.
#pragma once

#include <cstdint>

namespace weir::kernels {

struct MatrixView {
  float* data = nullptr;
  int64_t row_count = 0;
  int64_t column_count = 0;
  int64_t stride = 0;

  float* row(int64_t index) const { return data + index * stride; }
};

struct ConstMatrixView {
  ConstMatrixView() = default;
  ConstMatrixView(const float* data_in, int64_t rows, int64_t columns, int64_t stride_in)
      : data(data_in), row_count(rows), column_count(columns), stride(stride_in) {}
  ConstMatrixView(const MatrixView& view)  // NOLINT: what can be written can be read
      : data(view.data),
        row_count(view.row_count),
        column_count(view.column_count),
        stride(view.stride) {}

  const float* row(int64_t index) const { return data + index * stride; }

  const float* data = nullptr;
  int64_t row_count = 0;
  int64_t column_count = 0;
  int64_t stride = 0;
};

struct VectorView {
  float* data = nullptr;
  int64_t count = 0;
};

struct ConstVectorView {
  ConstVectorView() = default;
  ConstVectorView(const float* data_in, int64_t count_in) : data(data_in), count(count_in) {}
  ConstVectorView(const VectorView& view)  // NOLINT: what can be written can be read
      : data(view.data), count(view.count) {}

  const float* data = nullptr;
  int64_t count = 0;
};

struct IndexView {
  const uint32_t* data = nullptr;
  int64_t count = 0;
};

// Lists of indexes with weights, one list for each of `count` samples: list s is
// [s == 0 ? begin : ends[s - 1], ends[s]) of indexes and weights.
struct ListsView {
  const uint32_t* indexes = nullptr;
  const float* weights = nullptr;  // null: all 1
  const uint32_t* ends = nullptr;
  uint32_t begin = 0;
  int64_t count = 0;
};

// Floats of a vector register; kernels may compute on whole ones.
inline constexpr int64_t kVectorFloats = 8;

// The distance between rows at which a buffer of activations is fastest: whole cache lines, and no
// multiple of 512 bytes, for then the rows of a tile would compete for a few cache sets.
inline int64_t PaddedStride(int64_t columns) {
  const int64_t aligned = (columns + 15) / 16 * 16;
  return aligned % 128 == 0 ? aligned + 16 : aligned;
}

// Rows that lie one after the other.
inline MatrixView Dense(float* data, int64_t rows, int64_t columns) {
  return {data, rows, columns, columns};
}
inline ConstMatrixView Dense(const float* data, int64_t rows, int64_t columns) {
  return {data, rows, columns, columns};
}

}  // namespace weir::kernels
