#include "common/tensor/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <limits>
#include <new>

namespace weir::tensor {

std::span<std::byte> MapHugePages(size_t byte_count) {
  if (byte_count > std::numeric_limits<size_t>::max() - 2 * kHugePageBytes) throw std::bad_alloc();
  byte_count = (byte_count + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  void* mapped = mmap(nullptr, byte_count + kHugePageBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* first = static_cast<std::byte*>(mapped);
  const size_t before =
      (kHugePageBytes - reinterpret_cast<uintptr_t>(mapped) % kHugePageBytes) % kHugePageBytes;
  if (before > 0) munmap(first, before);
  munmap(first + before + byte_count, kHugePageBytes - before);
  return {first + before, byte_count};
}

void UnmapHugePages(std::span<std::byte> mapped) { munmap(mapped.data(), mapped.size()); }

}  // namespace weir::tensor
