// Linear layers of any shape, and their definition as a plain loop in 64 bits.
#pragma once

#include <cstdint>
#include <vector>

#include "common/kernels/kernel_table.h"
#include "tests/common/kernels/gradient_check.h"

namespace weir::test {

struct Shape {
  int64_t samples, inputs, outputs;
};

// Features by samples, in a buffer whose padding holds what must not matter.
struct Activations {
  Activations(int64_t features, int64_t samples, uint64_t seed)
      : values(RandomFloats(static_cast<size_t>(features * kernels::PaddedStride(samples)), seed)),
        view{values.data(), features, samples, kernels::PaddedStride(samples)} {}

  std::vector<float> values;
  kernels::MatrixView view;
};

inline std::vector<float> Contents(const kernels::MatrixView& view) {
  std::vector<float> values;
  for (int64_t r = 0; r < view.row_count; ++r) {
    values.insert(values.end(), view.row(r), view.row(r) + view.column_count);
  }
  return values;
}

// A layer and the derivatives of the loss <y, loss_weight>, in 64 bits.
struct Reference {
  Reference(const Shape& s, kernels::Activation activation, const kernels::MatrixView& x,
            const kernels::MatrixView& dy, const std::vector<float>& w, const std::vector<float>& b)
      : y(static_cast<size_t>(s.outputs * s.samples)),
        dx(static_cast<size_t>(s.inputs * s.samples)),
        dw(w.size()),
        db(b.size()) {
    for (int64_t o = 0; o < s.outputs; ++o) {
      for (int64_t n = 0; n < s.samples; ++n) {
        double sum = b[static_cast<size_t>(o)];
        for (int64_t i = 0; i < s.inputs; ++i) {
          sum += double(w[static_cast<size_t>(o * s.inputs + i)]) * x.row(i)[n];
        }
        const bool cut = activation == kernels::Activation::kRelu && sum < 0;
        y[static_cast<size_t>(o * s.samples + n)] = cut ? 0.0 : sum;
        const double gradient = cut ? 0.0 : dy.row(o)[n];
        db[static_cast<size_t>(o)] += gradient;
        for (int64_t i = 0; i < s.inputs; ++i) {
          const auto at = static_cast<size_t>(o * s.inputs + i);
          dw[at] += gradient * x.row(i)[n];
          dx[static_cast<size_t>(i * s.samples + n)] += gradient * w[at];
        }
      }
    }
  }
  std::vector<double> y, dx, dw, db;
};

}  // namespace weir::test
