#include <dnnl.hpp>

#include <omp.h>

#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "common/base/strings.h"
#include "tools/bench/peers/gemm_libraries.h"
#include "tools/bench/peers/products.h"

namespace weir::bench {
namespace {

void Sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
           const float* b, float* c) {
  dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1, a, transpose_a ? m : k,
             b, transpose_b ? k : n, 0, c, n);
}

std::vector<uint16_t> Halves(const tensor::AlignedBuffer& values) {
  std::vector<uint16_t> halves;
  for (const float value : values.span()) {
    halves.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
  }
  return halves;
}

std::string Version() {
  const dnnl::version_t& version = *dnnl::version();
  return StrCat("oneDNN ", version.major, ".", version.minor, ".", version.patch);
}

// The products of one layer.
class Bf16Layer {
 public:
  // Throws dnnl::error where oneDNN has none on this processor.
  explicit Bf16Layer(const GemmLayer& o) : x_(Halves(o.x)), w_(Halves(o.w)), y_(Halves(o.y)) {
    Add(false, true, o.batch, o.outputs, o.inputs, &x_, &w_, o.y.size());
    Add(true, false, o.outputs, o.inputs, o.batch, &y_, &x_, o.dw.size());
    if (!o.first) Add(false, false, o.batch, o.inputs, o.outputs, &y_, &w_, o.dx.size());
  }

  void Run() {
    for (Product& p : products_) p.matmul.execute(stream_, p.arguments);
    stream_.wait();
  }

 private:
  struct Product {
    dnnl::matmul matmul;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  void Add(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
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

  std::vector<uint16_t> x_, w_, y_;
  std::deque<tensor::AlignedBuffer> results_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<Product> products_;
};

}  // namespace

GemmLibrary OneDnn() {
  omp_set_num_threads(1);
  return {"onednn", StrCat(Version(), " dnnl_sgemm"),
          [](GemmLayer* layer) { RunProducts(Sgemm, layer); }};
}

Bf16Products OneDnnBf16Products(const std::vector<GemmLayer>& layers) {
  const auto products = std::make_shared<std::deque<Bf16Layer>>();
  try {
    for (const GemmLayer& layer : layers) products->emplace_back(layer);
  } catch (const dnnl::error& error) {
    return {StrCat(Version(), ": ", error.what()), nullptr};
  }
  return {StrCat(Version(), " matmul of BF16"), [products] {
            for (Bf16Layer& layer : *products) layer.Run();
          }};
}

}  // namespace weir::bench
