#include "common/store/index_entries.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>

#include "common/base/check.h"
#include "common/tensor/aligned_buffer.h"
#include "common/tensor/huge_pages.h"

namespace weir::store {

static_assert(IndexEntries::kPagePlaces * sizeof(uint32_t) == tensor::kHugePageBytes);

namespace {

// As whole cache lines, so that few of them hold a run.
uint32_t* AllocateSmall(size_t byte_count) {
  byte_count = std::max(byte_count, tensor::kAlignmentBytes);
  void* memory = std::aligned_alloc(tensor::kAlignmentBytes, byte_count);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, byte_count);
  return static_cast<uint32_t*>(memory);
}

uint32_t* MapLarge(size_t byte_count) {
  const std::span<std::byte> mapped = tensor::MapHugePages(byte_count);
  // A system without huge pages goes on with small ones.
  madvise(mapped.data(), mapped.size(), MADV_HUGEPAGE);
  return reinterpret_cast<uint32_t*>(mapped.data());
}

}  // namespace

IndexEntries::IndexEntries(uint32_t bits) : mask_((uint32_t{1} << bits) - 1) {
  CHECK(bits >= 1 && bits <= kMaxBits) << bits;
  entries_ = is_large() ? MapLarge(ByteCount()) : AllocateSmall(ByteCount());
}

void IndexEntries::GiveBack(uint32_t place) {
  madvise(entries_ + place, tensor::kHugePageBytes, MADV_DONTNEED);
}

void IndexEntries::Free() {
  if (entries_ == nullptr || !is_large()) return std::free(entries_);
  tensor::UnmapHugePages({reinterpret_cast<std::byte*>(entries_), ByteCount()});
}

}  // namespace weir::store
