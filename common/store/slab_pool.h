// Memory for rows: slabs of the size of a huge page, zero, at addresses that never change.
//
// Slabs are cut from blocks of address space that double up to 128 MiB, so that a store of any size
// has few mappings; what of a block is not given out yet takes no memory. A row is found at random,
// and in small pages each one would miss the TLB. The first slab stays in small pages: a small
// store takes the memory of its rows, not of a huge page.
//
// Place in the life of a batch: none; a new row may take a slab.
// Thread rule: thread-compatible. Owns the slabs, until it goes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/tensor/aligned_buffer.h"

namespace weir::store {

class SlabPool {
 public:
  static constexpr size_t kSlabBytes = tensor::kHugePageBytes;

  SlabPool() = default;
  ~SlabPool();
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  // The next kSlabBytes, zero, aligned to their size. Running out of memory ends the process.
  std::byte* Take();

 private:
  void AddBlock();

  std::vector<std::span<std::byte>> blocks_;
  std::span<std::byte> left_;  // of the last block
};

}  // namespace weir::store
