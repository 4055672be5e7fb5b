// The product that everything dense is cut into: c = a b, or c += a b, of a size that fits the
// first-level cache: on x86-64 by code that libxsmm generates at run time for this processor, else
// by loops that are compiled for its instruction set.
//
// Column-major, as libxsmm has it: a is [m, k] with element (i, p) at a[p * lda + i]; b is [k, n]
// with (p, j) at b[j * ldb + p], or, transposed, at b[p * ldb + j]; c is [m, n] with (i, j) at
// c[j * ldc + i]. Fastest for m = FastestM() and by far slowest when m is no multiple of 8, so
// callers pad m.
//
// Place in the life of a batch: forward and backward, below the linear layers (cpu_linear.cc).
// Thread rule: any thread; a tile is a value. Runs on the calling thread alone. b may be weights
// that are written meanwhile (common/base/hogwild.h).
#pragma once

#include <cstdint>

namespace weir::kernels::cpu {

struct GemmTileShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  bool transpose_b = false;
  bool accumulate = false;
};

class GemmTile {
 public:
  // Generates the code, or finds it generated. Where it cannot be (no x86-64 with AVX, memory that
  // must not be executed) the tile is a portable one. Throws bad_alloc without memory.
  explicit GemmTile(const GemmTileShape& shape);

  void operator()(const float* a, const float* b, float* c) const {
    if (generated_ != nullptr) {
      generated_(a, b, c);
      ForgetUpperHalves();
    } else {
      MultiplyPortably(shape_, a, b, c);
    }
  }

  bool is_generated() const { return generated_ != nullptr; }

  // As many rows of c as fill the processor's registers best: a multiple of 8, at most kLargestM.
  static int64_t FastestM();
  static constexpr int64_t kLargestM = 64;

  // Without generated code.
  static void MultiplyPortably(const GemmTileShape& shape, const float* a, const float* b,
                               float* c);

 private:
  // Generated code leaves the upper halves of its registers in use. Code of 128-bit vectors, which
  // is most of the rest, then waits at each load for the load before: the update of
  // dense parameters took three times as long.
  static void ForgetUpperHalves() {
#if defined(__x86_64__)
    asm volatile("vzeroupper" ::
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                       "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#endif
  }

  GemmTileShape shape_;
  void (*generated_)(const float* a, const float* b, float* c, ...) = nullptr;
};

}  // namespace weir::kernels::cpu
