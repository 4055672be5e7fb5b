// Address space of whole huge pages, straight from the system: it goes back when it is freed, where
// an allocator might keep it, and it begins where a huge page can.
//
// Place in the life of a batch: none; below buffers and row slabs.
// Thread rule: any thread. The caller owns what it mapped.
#pragma once

#include <cstddef>
#include <span>

namespace weir::tensor {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// byte_count rounded up to huge pages, zero, aligned to one. No memory is taken before it is
// written. Throws std::bad_alloc, as operator new does.
std::span<std::byte> MapHugePages(size_t byte_count);
void UnmapHugePages(std::span<std::byte> mapped);

}  // namespace weir::tensor
