#include "common/store/slab_pool.h"

#include <sys/mman.h>

#include <algorithm>

#include "common/tensor/huge_pages.h"

namespace weir::store {
namespace {

constexpr size_t kMaxBlockBytes = size_t{128} << 20;

}  // namespace

SlabPool::~SlabPool() {
  for (const std::span<std::byte> block : blocks_) tensor::UnmapHugePages(block);
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
  left_ = tensor::MapHugePages(size);
  // A system without huge pages goes on with small ones.
  if (!blocks_.empty()) madvise(left_.data(), left_.size(), MADV_HUGEPAGE);
  blocks_.push_back(left_);
}

}  // namespace weir::store
