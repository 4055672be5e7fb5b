#include <cblas.h>

#include "common/base/strings.h"
#include "tools/bench/peers/gemm_libraries.h"
#include "tools/bench/peers/products.h"

namespace weir::bench {
namespace {

void Sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
           const float* b, float* c) {
  const auto i = [](int64_t value) { return static_cast<blasint>(value); };
  cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
              transpose_b ? CblasTrans : CblasNoTrans, i(m), i(n), i(k), 1, a,
              i(transpose_a ? m : k), b, i(transpose_b ? k : n), 0, c, i(n));
}

// Its version is the second word of "OpenBLAS 0.3.21 ...".
std::string Version() {
  const std::string config = openblas_get_config();
  return config.substr(0, config.find(' ', config.find(' ') + 1));
}

}  // namespace

std::string OpenBlasCoreType() { return openblas_get_corename(); }

GemmLibrary OpenBlas() {
  openblas_set_num_threads(1);
  return {"openblas", StrCat(Version(), " sgemm"),
          [](GemmLayer* layer) { RunProducts(Sgemm, layer); }};
}

}  // namespace weir::bench
