#include "common/kernels/gemm_tile.h"

#if defined(__x86_64__)

#include <libxsmm.h>

#include <cstdlib>
#include <new>

namespace weir::kernels::cpu {
namespace {

// It looks up generated code in tables of some megabytes, whether or not it got memory for them.
void RequireTables() {
  libxsmm_registry_info ignored = {};
  static const bool has_tables =
      libxsmm_get_registry_info(&ignored) == EXIT_SUCCESS ? true : throw std::bad_alloc();
  (void)has_tables;
}

}  // namespace

GemmTile::GemmTile(const GemmTileShape& shape) : shape_(shape) {
  RequireTables();
  // Without AVX there is no instruction that operator() ends with.
  if (libxsmm_get_target_archid() < LIBXSMM_X86_AVX) return;
  const auto lda = static_cast<libxsmm_blasint>(shape.lda);
  const auto ldb = static_cast<libxsmm_blasint>(shape.ldb);
  const auto ldc = static_cast<libxsmm_blasint>(shape.ldc);
  const float alpha = 1.0f, beta = shape.accumulate ? 1.0f : 0.0f;
  const int flags = shape.transpose_b ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
  const int prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  generated_ = libxsmm_smmdispatch(
      static_cast<libxsmm_blasint>(shape.m), static_cast<libxsmm_blasint>(shape.n),
      static_cast<libxsmm_blasint>(shape.k), &lda, &ldb, &ldc, &alpha, &beta, &flags, &prefetch);
}

int64_t GemmTile::FastestM() {
  static const int64_t fastest =
      libxsmm_get_target_archid() >= LIBXSMM_X86_AVX512 ? kLargestM : kLargestM / 2;
  return fastest;
}

}  // namespace weir::kernels::cpu

#else

namespace weir::kernels::cpu {

GemmTile::GemmTile(const GemmTileShape& shape) : shape_(shape) {}

int64_t GemmTile::FastestM() { return kLargestM / 2; }

}  // namespace weir::kernels::cpu

#endif
