// The GEMMs of one training step (forward, backward by data, backward by weight of each layer), by
// our kernel table and by the library alone.

#include <cblas.h>
#include <dnnl.h>
#include <omp.h>

#include <cmath>
#include <random>

#include "common/base/strings.h"
#include "common/kernels/cpu_kernels.h"
#include "common/tensor/aligned_buffer.h"
#include "tools/bench/dlrm_shape.h"
#include "tools/bench/gemm.h"
#include "tools/bench/measure.h"
#include "tools/bench/sections.h"
#include "worker/model/dlrm.h"

namespace weir::bench {
namespace {

using kernels::Dense;

struct Operands {
  Operands(const GemmShape& shape, int64_t batch_in)
      : inputs(shape.inputs),
        outputs(shape.outputs),
        batch(batch_in),
        first(shape.first),
        stride(kernels::PaddedStride(std::min(batch, model::Dlrm::kBlockRows))),
        blocks((batch + model::Dlrm::kBlockRows - 1) / model::Dlrm::kBlockRows),
        x(static_cast<size_t>(blocks * inputs * stride)),
        w(static_cast<size_t>(inputs * outputs)),
        y(static_cast<size_t>(blocks * outputs * stride)),
        bias(static_cast<size_t>(outputs)),
        bias_gradient(bias.size()),
        dx(x.size()),
        dw(w.size()) {
    std::minstd_rand random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (tensor::AlignedBuffer* buffer : {&x, &w, &y}) {
      for (float& value : buffer->span()) value = uniform(random);
    }
  }

  double flop() const {
    return 2.0 * static_cast<double>(batch * inputs * outputs) * (first ? 2 : 3);
  }

  int64_t inputs, outputs, batch;
  bool first;
  int64_t stride, blocks;
  tensor::AlignedBuffer x, w, y, bias, bias_gradient, dx, dw;
};

// As the model goes about it: slice by slice, and the gradients of the weights block by block.
void ByTable(Operands& o) {
  const kernels::KernelTable& table = kernels::CpuKernels();
  const auto weight = Dense(o.w.data(), o.outputs, o.inputs);
  for (int64_t block = 0; block < o.blocks; ++block) {
    const int64_t rows =
        std::min(model::Dlrm::kBlockRows, o.batch - block * model::Dlrm::kBlockRows);
    const auto view = [&](tensor::AlignedBuffer& values, int64_t features, int64_t column,
                          int64_t count) {
      return kernels::MatrixView{values.data() + block * features * o.stride + column, features,
                                 count, o.stride};
    };
    for (int64_t column = 0; column < rows; column += model::Dlrm::kSliceRows) {
      const int64_t count = std::min(model::Dlrm::kSliceRows, rows - column);
      const auto x = view(o.x, o.inputs, column, count), y = view(o.y, o.outputs, column, count);
      table.linear_forward(x, weight, {o.bias.data(), o.outputs}, kernels::Activation::kRelu, y);
      if (!o.first) {
        table.linear_backward_data(y, weight, x, view(o.dx, o.inputs, column, count));
      }
    }
    table.linear_backward_weight(view(o.y, o.outputs, 0, rows), view(o.x, o.inputs, 0, rows),
                                 block > 0, Dense(o.dw.data(), o.outputs, o.inputs),
                                 {o.bias_gradient.data(), o.outputs});
  }
}

// The three products of a layer, by a library's sgemm on row-major matrices.
template <typename Sgemm>
void ByLibrary(Operands& o, const Sgemm& sgemm) {
  sgemm(false, true, o.batch, o.outputs, o.inputs, o.x.data(), o.w.data(), o.y.data());
  sgemm(true, false, o.outputs, o.inputs, o.batch, o.y.data(), o.x.data(), o.dw.data());
  if (!o.first) {
    sgemm(false, false, o.batch, o.inputs, o.outputs, o.y.data(), o.w.data(), o.dx.data());
  }
}

void OneDnn(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
            const float* b, float* c) {
  dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1, a, transpose_a ? m : k,
             b, transpose_b ? k : n, 0, c, n);
}

void OpenBlas(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
              const float* b, float* c) {
  const auto i = [](int64_t value) { return static_cast<blasint>(value); };
  cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
              transpose_b ? CblasTrans : CblasNoTrans, i(m), i(n), i(k), 1, a,
              i(transpose_a ? m : k), b, i(transpose_b ? k : n), 0, c, i(n));
}

struct Rates {
  double ours, one_dnn, open_blas;  // GFLOP/s
};

Rates Measure(int64_t batch, int repeats) {
  std::vector<Operands> layers;
  double flop = 0;
  for (const GemmShape& shape : kDlrmLayers) {
    layers.emplace_back(shape, batch);
    flop += layers.back().flop();
  }
  const auto each = [&](const auto& work) {
    return [&layers, work] {
      for (Operands& o : layers) work(o);
    };
  };
  const auto median = MedianSeconds(repeats, {each([](Operands& o) { ByTable(o); }),
                                              each([](Operands& o) { ByLibrary(o, OneDnn); }),
                                              each([](Operands& o) { ByLibrary(o, OpenBlas); })});
  const double scale = flop / 1e9;
  return {scale / median[0], scale / median[1], scale / median[2]};
}

}  // namespace

double BestGemmSamplesPerSecond(int64_t batch, int repeats) {
  omp_set_num_threads(1);
  openblas_set_num_threads(1);
  double flop_per_sample = 0;
  for (const GemmShape& shape : kDlrmLayers) flop_per_sample += Operands(shape, 1).flop();
  const Rates rates = Measure(batch, repeats);
  return std::max({rates.ours, rates.one_dnn, rates.open_blas}) * 1e9 / flop_per_sample;
}

Result<Lines> BenchGemm(const Options& options) {
  omp_set_num_threads(1);
  openblas_set_num_threads(1);
  Lines lines;
  for (const int64_t batch : {128, 512, 2048}) {
    if (options.quick && batch > 128) break;
    const Rates rates = Measure(batch, 3 * options.repeats);
    const Line line{.name = StrCat("gemm/batch_", batch), .value = rates.ours, .unit = "GFLOP/s"};
    lines.push_back(line);
    lines.back().peer = "oneDNN dnnl_sgemm";
    lines.back().peer_value = rates.one_dnn;
    lines.push_back(line);
    lines.back().peer = "OpenBLAS sgemm";
    lines.back().peer_value = rates.open_blas;
  }
  return lines;
}

}  // namespace weir::bench
