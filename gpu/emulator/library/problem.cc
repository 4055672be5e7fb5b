#include "gpu/emulator/library/problem.h"

#include <cmath>
#include <cstring>

namespace weir::gpu::emulator {
namespace {

float RoundedToTf32(float value) {
  if (!std::isfinite(value)) return value;
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = (bits + 0x1000u) & ~0x1fffu;
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

float Load(const void* data, const WeirMatrixLayout& layout, bool is_tf32, uint64_t row,
           uint64_t column) {
  const uint64_t at = row + column * static_cast<uint64_t>(layout.ld);
  if (layout.type == CUDA_R_32F) {
    const float value = static_cast<const float*>(data)[at];
    return is_tf32 ? RoundedToTf32(value) : value;
  }
  const uint32_t bits = uint32_t{static_cast<const uint16_t*>(data)[at]} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

}  // namespace

float LoadOfA(const Problem& of, const void* a, uint64_t row, uint64_t k) {
  const bool is_tf32 = of.desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const bool is_plain = of.desc.a == CUBLAS_OP_N;
  return Load(a, of.a, is_tf32, is_plain ? row : k, is_plain ? k : row);
}

float LoadOfB(const Problem& of, const void* b, uint64_t k, uint64_t column) {
  const bool is_tf32 = of.desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const bool is_plain = of.desc.b == CUBLAS_OP_N;
  return Load(b, of.b, is_tf32, is_plain ? k : column, is_plain ? column : k);
}

}  // namespace weir::gpu::emulator
