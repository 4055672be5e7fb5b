// Linear layers of any shape, and their definition as a plain loop in 64 bits.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "common/kernels/kernel_table.h"
#include "tests/common/kernels/gradient_check.h"
#include "tests/common/kernels/random_matrices.h"

namespace weir::test {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

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

// A layer and the derivatives of the loss <y, loss_weight>, in 64 bits.
struct Reference {
  Reference(const Shape& s, kernels::Activation activation, const kernels::ConstMatrixView& x,
            const kernels::ConstMatrixView& dy, const std::vector<float>& w,
            const std::vector<float>& b)
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

// A layer with operands of its own; what is computed starts as NaN or noise.
struct Layer {
  Layer(const Shape& shape_in, kernels::Activation activation_in)
      : shape(shape_in),
        activation(activation_in),
        x(shape.inputs, shape.samples, 1),
        dy(shape.outputs, shape.samples, 4),
        y(shape.outputs, shape.samples, 5),
        dx(shape.inputs, shape.samples, 6),
        w(RandomFloats(static_cast<size_t>(shape.outputs * shape.inputs), 2)),
        b(RandomFloats(static_cast<size_t>(shape.outputs), 3)),
        dw(w.size(), kNan),
        db(b.size(), kNan) {}

  kernels::ConstMatrixView weight() const {
    return kernels::Dense(w.data(), shape.outputs, shape.inputs);
  }
  void Forward(const kernels::KernelTable& table) {
    table.linear_forward(x.view, weight(), {b.data(), shape.outputs}, activation, y.view);
  }
  void BackwardWeight(const kernels::KernelTable& table, bool accumulate) {
    table.linear_backward_weight(dy.view, x.view, accumulate,
                                 kernels::Dense(dw.data(), shape.outputs, shape.inputs),
                                 {db.data(), shape.outputs});
  }
  void BackwardData(const kernels::KernelTable& table) {
    table.linear_backward_data(dy.view, weight(), kernels::ConstMatrixView{}, dx.view);
  }

  Shape shape;
  kernels::Activation activation;
  Activations x, dy, y, dx;
  std::vector<float> w, b, dw, db;
};

}  // namespace weir::test
