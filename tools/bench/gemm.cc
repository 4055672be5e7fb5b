// The GEMMs of one training step (forward, backward by data, backward by weight of each layer), by
// our kernel table and by the library alone.

#include <cblas.h>
#include <omp.h>
#include <dnnl.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <deque>
#include <iostream>
#include <random>
#include <unordered_map>

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
void ByTable(Operands& o, const kernels::KernelTable& table) {
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

std::vector<Operands> Layers(int64_t batch) {
  std::vector<Operands> layers;
  for (const GemmShape& shape : kDlrmLayers) layers.emplace_back(shape, batch);
  return layers;
}

double TotalFlop(const std::vector<Operands>& layers) {
  double flop = 0;
  for (const Operands& o : layers) flop += o.flop();
  return flop;
}

struct Rates {
  double Best() const { return std::max({ours, one_dnn, open_blas}); }

  double ours, one_dnn, open_blas;  // GFLOP/s
};

Rates Measure(int64_t batch, int repeats) {
  std::vector<Operands> layers = Layers(batch);
  const auto each = [&](const auto& work) {
    return [&layers, work] {
      for (Operands& o : layers) work(o);
    };
  };
  const auto median =
      MedianSeconds(repeats, {each([](Operands& o) { ByTable(o, kernels::CpuKernels()); }),
                              each([](Operands& o) { ByLibrary(o, OneDnn); }),
                              each([](Operands& o) { ByLibrary(o, OpenBlas); })});
  const double scale = TotalFlop(layers) / 1e9;
  return {scale / median[0], scale / median[1], scale / median[2]};
}

// The same products of bfloat16 numbers by oneDNN, row-major on both sides, rounded beforehand.
class OneDnnBf16 {
 public:
  explicit OneDnnBf16(const Operands& o) : x_(Halves(o.x)), w_(Halves(o.w)), y_(Halves(o.y)) {
    Add(false, true, o.batch, o.outputs, o.inputs, &x_, &w_, o.y.size());
    Add(true, false, o.outputs, o.inputs, o.batch, &y_, &x_, o.dw.size());
    if (!o.first) Add(false, false, o.batch, o.inputs, o.outputs, &y_, &w_, o.dx.size());
  }

  void Run() {
    for (Product& p : products_) {
      p.matmul.execute(stream_, p.arguments);
    }
    stream_.wait();
  }

 private:
  using Tag = dnnl::memory::format_tag;
  struct Product {
    dnnl::matmul matmul;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  static std::vector<uint16_t> Halves(const tensor::AlignedBuffer& values) {
    std::vector<uint16_t> halves;
    for (const float value : values.span()) {
      halves.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
    }
    return halves;
  }

  void Add(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
           std::vector<uint16_t>* a, std::vector<uint16_t>* b, size_t result_size) {
    constexpr auto kBf16 = dnnl::memory::data_type::bf16;
    const dnnl::memory::desc a_form({m, k}, kBf16, transpose_a ? Tag::ba : Tag::ab);
    const dnnl::memory::desc b_form({k, n}, kBf16, transpose_b ? Tag::ba : Tag::ab);
    const dnnl::memory::desc c_form({m, n}, dnnl::memory::data_type::f32, Tag::ab);
    tensor::AlignedBuffer& c = results_.emplace_back(result_size);
    products_.push_back({dnnl::matmul({{a_form, b_form, c_form}, engine_}),
                         {{DNNL_ARG_SRC, {a_form, engine_, a->data()}},
                          {DNNL_ARG_WEIGHTS, {b_form, engine_, b->data()}},
                          {DNNL_ARG_DST, {c_form, engine_, c.data()}}}});
  }

  std::vector<uint16_t> x_, w_, y_;
  std::deque<tensor::AlignedBuffer> results_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<Product> products_;
};

// |a - b| / |b|.
double Distance(const tensor::AlignedBuffer& a, const tensor::AlignedBuffer& b) {
  double difference = 0, scale = 1e-30;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double{a[i]} - b[i], 2);
    scale += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(difference / scale);
}

// A bfloat16 has 8 bits; the gradients are products of a product.
Status VerifyBf16(int64_t batch) {
  std::vector<Operands> bf16 = Layers(batch), f32 = Layers(batch);
  for (size_t i = 0; i < f32.size(); ++i) {
    ByTable(bf16[i], kernels::CpuBf16Kernels());
    ByTable(f32[i], kernels::CpuKernels());
    const double distance =
        std::max({Distance(bf16[i].y, f32[i].y), Distance(bf16[i].dx, f32[i].dx),
                  Distance(bf16[i].dw, f32[i].dw)});
    if (distance < 0x1p-6) continue;
    return Internal(StrCat("gemm: the products of ", f32[i].inputs, " x ", f32[i].outputs,
                           " with bfloat16 are off by ", distance, " of those in 32 bits"));
  }
  return OkStatus();
}

// Seconds that oneDNN takes for the products, measured in turns with ours; 0 where its build knows
// no bfloat16 on this processor.
std::array<double, 2> Bf16Seconds(std::vector<Operands>& layers, int repeats) {
  const auto ours = [&] {
    for (Operands& o : layers) ByTable(o, kernels::CpuBf16Kernels());
  };
  std::deque<OneDnnBf16> peers;
  try {
    for (const Operands& o : layers) peers.emplace_back(o);
  } catch (const dnnl::error& error) {
    std::cout << "gemm/bf16: oneDNN: " << error.what() << "\n";
    return {MedianSeconds(repeats, {ours})[0], 0};
  }
  const auto one_dnn = [&] {
    for (OneDnnBf16& peer : peers) peer.Run();
  };
  const auto median = MedianSeconds(repeats, {ours, one_dnn});
  return {median[0], median[1]};
}

void AddBf16Lines(int64_t batch, int repeats, const Rates& f32, Lines* lines) {
  std::vector<Operands> layers = Layers(batch);
  const auto [ours, one_dnn] = Bf16Seconds(layers, repeats);
  const double scale = TotalFlop(layers) / 1e9;
  const Line line{
      .name = StrCat("gemm/bf16/batch_", batch), .value = scale / ours, .unit = "GFLOP/s"};
  lines->push_back(line);
  lines->back().peer = "the fastest in 32 bits";
  lines->back().peer_value = f32.Best();
  lines->push_back(line);
  lines->back().peer = "oneDNN matmul of BF16";
  lines->back().peer_value = one_dnn > 0 ? scale / one_dnn : 0;
}

}  // namespace

double BestGemmSamplesPerSecond(int64_t batch, int repeats) {
  omp_set_num_threads(1);
  openblas_set_num_threads(1);
  return Measure(batch, repeats).Best() * 1e9 / TotalFlop(Layers(1));
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
    WEIR_RETURN_IF_ERROR(VerifyBf16(batch));
    if (kernels::CpuHasBf16Units()) AddBf16Lines(batch, 3 * options.repeats, rates, &lines);
  }
  if (!kernels::CpuHasBf16Units()) {
    std::cout << "gemm/bf16: verified, not measured: this processor has no units for it\n";
  }
  return lines;
}

}  // namespace weir::bench
