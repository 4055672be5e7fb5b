#include "common/store/slab_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>

namespace weir::store {
namespace {

constexpr size_t kMaxBlockBytes = size_t{128} << 20;

// Address space of a multiple of kSlabBytes, aligned to it.
std::span<std::byte> Reserve(size_t byte_count) {
  constexpr size_t kAlignment = SlabPool::kSlabBytes;
  void* mapped = mmap(nullptr, byte_count + kAlignment, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    throw std::bad_alloc();  // as operator new has it; main() tells the user
  auto* first = static_cast<std::byte*>(mapped);
  const size_t before =
      (kAlignment - reinterpret_cast<uintptr_t>(mapped) % kAlignment) % kAlignment;
  if (before > 0) munmap(first, before);
  munmap(first + before + byte_count, kAlignment - before);
  return {first + before, byte_count};
}

}  // namespace

SlabPool::~SlabPool() {
  for (const std::span<std::byte> block : blocks_) munmap(block.data(), block.size());
}

std::byte* SlabPool::Take() {
  if (left_.empty()) AddBlock();
  std::byte* slab = left_.data();
  left_ = left_.subspan(kSlabBytes);
  return slab;
}

void SlabPool::AddBlock() {
  const size_t size =
      blocks_.empty() ? kSlabBytes : std::min(2 * blocks_.back().size(), kMaxBlockBytes);
  left_ = Reserve(size);
  // A system without huge pages goes on with small ones.
  if (!blocks_.empty()) madvise(left_.data(), left_.size(), MADV_HUGEPAGE);
  blocks_.push_back(left_);
}

}  // namespace weir::store
