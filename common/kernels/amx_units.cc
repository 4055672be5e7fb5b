// Products by Intel's AMX. Its instructions are written as such: compilers' functions for them
// differ.

#include "common/base/check.h"
#include "common/kernels/amx_blocks.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weir::kernels::cpu {
namespace {

struct AmxOps {
  static void Shape(const AmxSizes& rows, const AmxSizes& columns) {
    struct alignas(64) {
      uint8_t palette = 1;
      uint8_t start_row = 0;
      uint8_t reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } shape;
    static_assert(sizeof(shape) == 64);
    for (size_t t = 0; t < rows.size(); ++t) {
      if (rows[t] == 0) continue;
      shape.rows[t] = static_cast<uint8_t>(rows[t]);
      shape.row_bytes[t] = static_cast<uint16_t>(columns[t] * 4);
    }
    asm volatile("ldtilecfg %0" ::"m"(shape) : "memory");
  }
  template <int t>
  static void Zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(t));
  }
  template <int t>
  static void Load(const float* from, int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride * 4), "i"(t) : "memory");
  }
  template <int t>
  static void Store(float* to, int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride * 4), "i"(t) : "memory");
  }
  template <int c, int x, int y>
  static void Dot() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(x), "i"(y));
  }
  static void Release() { asm volatile("tilerelease"); }
};

bool ProcessorHasAmx() {
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (edx & kBf16) != 0 && (edx & kTile) != 0;
}

// Linux saves the registers, 8 KiB a thread, of processes that have asked for them.
bool SystemLetsUseAmx() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool HasAmx() {
  static const bool has = HasBf16Units() && ProcessorHasAmx() && SystemLetsUseAmx();
  return has;
}

void MultiplyBf16ByAmx(const Bf16Product& product) {
  CHECK(HasAmx());
  AmxMultiply<AmxOps>(product);
}

}  // namespace weir::kernels::cpu

#else

namespace weir::kernels::cpu {

bool HasAmx() { return false; }

void MultiplyBf16ByAmx(const Bf16Product&) { LOG(FATAL) << "there is no AMX"; }

}  // namespace weir::kernels::cpu

#endif
