// Matrices of any shape, at any address, whose numbers add up without rounding: what a kernel makes
// of them is right to the bit or wrong, and so is what it leaves alone.
//
// Thread rule: values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

#include "common/base/random.h"
#include "common/kernels/views.h"

namespace weir::test {

// From 0 to most. Half of them are where vectors, or tiles of them, begin and end.
inline int64_t RandomSize(int64_t most, RandomStream* random) {
  constexpr int64_t kEdges[] = {0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65};
  const uint64_t any = random->NextBelow(static_cast<uint64_t>(most) + 1);
  if (random->NextBelow(2) == 0) return static_cast<int64_t>(any);
  return std::min(most, kEdges[random->NextBelow(std::size(kEdges))]);
}

// Mostly one at which rows lie on no border of a vector.
inline int64_t RandomStride(int64_t columns, RandomStream* random) {
  return columns + static_cast<int64_t>(random->NextBelow(6));
}

// In [-1, 1]. Thousands of products of two add up exactly, in any order, fused or not; a bfloat16
// holds each, and its square.
inline float RandomEighth(RandomStream* random) {
  return static_cast<float>(random->NextBelow(17)) / 8 - 1;
}

inline std::vector<float> Contents(const kernels::ConstMatrixView& view) {
  std::vector<float> values;
  for (int64_t r = 0; r < view.row_count; ++r) {
    values.insert(values.end(), view.row(r), view.row(r) + view.column_count);
  }
  return values;
}

// Eighths in the midst of memory that is not theirs.
class RandomMatrix {
 public:
  // In NaN, which shows in all that it reaches.
  static RandomMatrix Input(int64_t rows, int64_t columns, int64_t stride, RandomStream* random) {
    return {rows, columns, stride, std::numeric_limits<float>::quiet_NaN(), random};
  }
  // In a number, which shows what is written there or added.
  static RandomMatrix Output(int64_t rows, int64_t columns, int64_t stride, RandomStream* random) {
    return {rows, columns, stride, 7.0f, random};
  }

  kernels::MatrixView view() { return {memory_.data() + begin_, rows_, columns_, stride_}; }
  kernels::ConstMatrixView view() const {
    return {memory_.data() + begin_, rows_, columns_, stride_};
  }

  // Of an output: whether all but the matrix is as it was; and but what lies between its rows.
  bool IsIntactAround() const { return IsIntactBut(columns_); }
  bool IsIntactAroundRows() const { return IsIntactBut(stride_); }

 private:
  // More than a vector.
  static constexpr int64_t kAround = 32;

  RandomMatrix(int64_t rows, int64_t columns, int64_t stride, float around, RandomStream* random)
      : rows_(rows),
        columns_(columns),
        stride_(stride),
        begin_(kAround + static_cast<int64_t>(random->NextBelow(16))),
        around_(around),
        memory_(static_cast<size_t>(begin_ + rows * stride + kAround), around) {
    const kernels::MatrixView matrix = view();
    for (int64_t r = 0; r < rows; ++r) {
      std::generate_n(matrix.row(r), columns, [random] { return RandomEighth(random); });
    }
  }

  bool IsIntactBut(int64_t columns) const {
    for (size_t i = 0; i < memory_.size(); ++i) {
      const int64_t at = static_cast<int64_t>(i) - begin_;
      const bool is_inside = at >= 0 && at < rows_ * stride_ && at % stride_ < columns;
      if (!is_inside && memory_[i] != around_) return false;
    }
    return true;
  }

  int64_t rows_, columns_, stride_, begin_;
  float around_;
  std::vector<float> memory_;
};

template <typename Change>
RandomMatrix Changed(RandomMatrix matrix, const Change& change) {
  const kernels::MatrixView view = matrix.view();
  for (int64_t r = 0; r < view.row_count; ++r) {
    std::transform(view.row(r), view.row(r) + view.column_count, view.row(r), change);
  }
  return matrix;
}

}  // namespace weir::test
