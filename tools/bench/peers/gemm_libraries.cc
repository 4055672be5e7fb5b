#include "tools/bench/peers/gemm_libraries.h"

#include <cblas.h>
#include <omp.h>

#include <bit>

namespace weir::bench {
namespace {

void OneDnnSgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                 const float* a, const float* b, float* c) {
  dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1, a, transpose_a ? m : k,
             b, transpose_b ? k : n, 0, c, n);
}

void OpenBlasSgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                   const float* a, const float* b, float* c) {
  const auto i = [](int64_t value) { return static_cast<blasint>(value); };
  cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
              transpose_b ? CblasTrans : CblasNoTrans, i(m), i(n), i(k), 1, a,
              i(transpose_a ? m : k), b, i(transpose_b ? k : n), 0, c, i(n));
}

template <typename Sgemm>
void Run(const Sgemm& sgemm, GemmLayer* layer) {
  GemmLayer& o = *layer;
  sgemm(false, true, o.batch, o.outputs, o.inputs, o.x.data(), o.w.data(), o.y.data());
  sgemm(true, false, o.outputs, o.inputs, o.batch, o.y.data(), o.x.data(), o.dw.data());
  if (!o.first) {
    sgemm(false, false, o.batch, o.inputs, o.outputs, o.y.data(), o.w.data(), o.dx.data());
  }
}

std::vector<uint16_t> Halves(const tensor::AlignedBuffer& values) {
  std::vector<uint16_t> halves;
  for (const float value : values.span()) {
    halves.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
  }
  return halves;
}

}  // namespace

std::string OpenBlasCoreType() { return openblas_get_corename(); }

void KeepLibrariesOnOneThread() {
  omp_set_num_threads(1);
  openblas_set_num_threads(1);
}

void RunByOneDnn(GemmLayer* layer) { Run(OneDnnSgemm, layer); }
void RunByOpenBlas(GemmLayer* layer) { Run(OpenBlasSgemm, layer); }

OneDnnBf16::OneDnnBf16(const GemmLayer& o) : x_(Halves(o.x)), w_(Halves(o.w)), y_(Halves(o.y)) {
  Add(false, true, o.batch, o.outputs, o.inputs, &x_, &w_, o.y.size());
  Add(true, false, o.outputs, o.inputs, o.batch, &y_, &x_, o.dw.size());
  if (!o.first) Add(false, false, o.batch, o.inputs, o.outputs, &y_, &w_, o.dx.size());
}

void OneDnnBf16::Run() {
  for (Product& p : products_) {
    p.matmul.execute(stream_, p.arguments);
  }
  stream_.wait();
}

void OneDnnBf16::Add(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                     std::vector<uint16_t>* a, std::vector<uint16_t>* b, size_t result_size) {
  using Tag = dnnl::memory::format_tag;
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

}  // namespace weir::bench
