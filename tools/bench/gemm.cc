// The GEMMs of one training step (forward, backward by data, backward by weight of each layer), by
// our kernel table and by the library alone.

#include <dnnl.h>
#include <omp.h>

#include <cmath>
#include <random>

#include "common/base/strings.h"
#include "common/kernels/cpu_kernels.h"
#include "common/tensor/aligned_buffer.h"
#include "tools/bench/dlrm_shape.h"
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
        x_stride(kernels::PaddedStride(inputs)),
        y_stride(kernels::PaddedStride(outputs)),
        x(static_cast<size_t>(batch * x_stride)),
        w(static_cast<size_t>(inputs * outputs)),
        y(static_cast<size_t>(batch * y_stride)),
        bias(static_cast<size_t>(outputs)),
        bias_gradient(bias.size()),
        packed(static_cast<size_t>(kernels::CpuKernels().packed_linear_floats(outputs, inputs))),
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
  int64_t x_stride, y_stride;
  tensor::AlignedBuffer x, w, y, bias, bias_gradient, packed, dx, dw;
};

void ByTable(Operands& o) {
  const kernels::KernelTable& table = kernels::CpuKernels();
  const kernels::PackedLinear layer{o.packed.data(), o.outputs, o.inputs};
  table.pack_linear(Dense(o.w.data(), o.outputs, o.inputs), {o.bias.data(), o.outputs},
                    o.packed.data());
  for (int64_t begin = 0; begin < o.batch; begin += model::Dlrm::kSliceRows) {
    const int64_t rows = std::min(model::Dlrm::kSliceRows, o.batch - begin);
    const kernels::MatrixView x{o.x.data() + begin * o.x_stride, rows, o.inputs, o.x_stride};
    const kernels::MatrixView dx{o.dx.data() + begin * o.x_stride, rows, o.inputs, o.x_stride};
    const kernels::MatrixView y{o.y.data() + begin * o.y_stride, rows, o.outputs, o.y_stride};
    table.linear_forward(x, layer, kernels::Activation::kRelu, y);
    table.linear_backward_weight(y, x, begin > 0, Dense(o.dw.data(), o.outputs, o.inputs),
                                 {o.bias_gradient.data(), o.outputs});
    if (!o.first) table.linear_backward_data(y, layer, x, dx);
  }
}

void ByOneDnn(Operands& o) {
  omp_set_num_threads(1);
  dnnl_sgemm('N', 'T', o.batch, o.outputs, o.inputs, 1, o.x.data(), o.inputs, o.w.data(), o.inputs,
             0, o.y.data(), o.outputs);
  dnnl_sgemm('T', 'N', o.outputs, o.inputs, o.batch, 1, o.y.data(), o.outputs, o.x.data(), o.inputs,
             0, o.dw.data(), o.inputs);
  if (o.first) return;
  dnnl_sgemm('N', 'N', o.batch, o.inputs, o.outputs, 1, o.y.data(), o.outputs, o.w.data(), o.inputs,
             0, o.dx.data(), o.inputs);
}

}  // namespace

Result<Lines> BenchGemm(const Options& options) {
  Lines lines;
  for (const int64_t batch : {128, 512, 2048}) {
    if (options.quick && batch > 128) break;
    std::vector<Operands> layers;
    double flop = 0;
    for (const GemmShape& shape : kDlrmLayers) {
      layers.emplace_back(shape, batch);
      flop += layers.back().flop();
    }
    const auto median = MedianSeconds(options.repeats, {[&] {
                                                          for (auto& o : layers) ByTable(o);
                                                        },
                                                        [&] {
                                                          for (auto& o : layers) ByOneDnn(o);
                                                        }});
    lines.push_back({.name = StrCat("gemm/batch_", batch),
                     .value = flop / median[0] / 1e9,
                     .unit = "GFLOP/s",
                     .peer = "oneDNN dnnl_sgemm",
                     .peer_value = flop / median[1] / 1e9});
  }
  return lines;
}

}  // namespace weir::bench
