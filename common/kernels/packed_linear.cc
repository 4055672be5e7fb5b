#include "common/kernels/packed_linear.h"

#include "common/base/check.h"
#include "common/base/hogwild.h"
#include "common/kernels/cpu_functions.h"

namespace weir::kernels::cpu {
namespace {

constexpr int64_t kSquare = 8;  // rows and columns that are transposed at a time

// to[c * to_stride + r] = from[r * from_stride + c]. In a fixed size the compiler keeps it in
// registers.
WEIR_HOGWILD void TransposeSquare(const float* from, int64_t from_stride, float* to,
                                  int64_t to_stride) {
  for (int64_t c = 0; c < kSquare; ++c) {
    for (int64_t r = 0; r < kSquare; ++r) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

WEIR_HOGWILD void TransposeRest(const float* from, int64_t from_stride, int64_t rows,
                                int64_t columns, float* to, int64_t to_stride) {
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

// The panel of W^T that holds the outputs from begin on.
void PackForwardPanel(const ConstMatrixView& weight, const Panels& panels, int64_t begin,
                      float* panel) {
  const int64_t width = panels.width(begin);
  for (int64_t r = 0; r < width; r += kSquare) {
    const int64_t rows = std::min(kSquare, weight.row_count - begin - r);
    const float* from = weight.row(begin + r);
    int64_t c = 0;
    if (rows == kSquare) {
      for (; c + kSquare <= weight.column_count; c += kSquare) {
        TransposeSquare(from + c, weight.stride, panel + c * width + r, width);
      }
    } else {
      for (int64_t i = 0; i < weight.column_count; ++i) {
        std::fill_n(panel + i * width + r, kSquare, 0.0f);
      }
    }
    TransposeRest(from + c, weight.stride, rows, weight.column_count - c, panel + c * width + r,
                  width);
  }
}

// The panel of W that holds the inputs from begin on.
void PackBackwardPanel(const ConstMatrixView& weight, const Panels& panels, int64_t begin,
                       float* panel) {
  const int64_t width = panels.width(begin);
  const int64_t count = std::min(width, weight.column_count - begin);
  for (int64_t r = 0; r < weight.row_count; ++r) {
    hogwild::Copy(weight.row(r) + begin, panel + r * width, static_cast<size_t>(count));
    std::fill_n(panel + r * width + count, width - count, 0.0f);
  }
}

}  // namespace

int64_t PackedLinearFloats(int64_t outputs, int64_t inputs) {
  return PackedLayout(outputs, inputs).float_count();
}

void PackLinear(const ConstMatrixView& weight, const ConstVectorView& bias, float* packed) {
  CHECK_EQ(bias.count, weight.row_count);
  const PackedLayout layout(weight.row_count, weight.column_count);
  hogwild::Copy(bias.data, packed, static_cast<size_t>(bias.count));
  std::fill_n(packed + bias.count, layout.forward_offset() - bias.count, 0.0f);
  for (int64_t begin = 0; begin < weight.row_count; begin += kPanelWidth) {
    PackForwardPanel(weight, layout.forward, begin,
                     packed + layout.forward_offset() + layout.forward.offset(begin));
  }
  for (int64_t begin = 0; begin < weight.column_count; begin += kPanelWidth) {
    PackBackwardPanel(weight, layout.backward, begin,
                      packed + layout.backward_offset() + layout.backward.offset(begin));
  }
}

}  // namespace weir::kernels::cpu
