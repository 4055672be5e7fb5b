// Owned numbers at 64-byte alignment: weights, activations, residuals and shards all live in one of
// these, so vector loads never straddle a cache line and views may assume their alignment.
//
// Zero at construction. The size is fixed; move-only, a moved-from buffer is empty. Nothing is
// promised about memory beyond size(). Views (span) borrow and must not outlive the buffer. A large
// buffer asks for huge pages: what is read at random in small ones misses the TLB at each access.
//
// Place in the life of a batch: none; what the other parts keep their numbers in.
// Thread rule: thread-compatible.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "common/base/check.h"
#include "common/tensor/huge_pages.h"

namespace weir::tensor {

inline constexpr size_t kAlignmentBytes = 64;

template <typename Element>
class AlignedArray {
  static_assert(std::is_arithmetic_v<Element>, "zero bytes must be a zero");

 public:
  AlignedArray() = default;

  // element_count elements, all zero. Running out of memory ends the process.
  explicit AlignedArray(size_t element_count)
      : data_(Allocate(element_count)), size_(element_count) {}

  AlignedArray(AlignedArray&& other) noexcept
      : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  AlignedArray& operator=(AlignedArray&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  Element* data() { return data_.get(); }
  const Element* data() const { return data_.get(); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  std::span<Element> span() { return {data_.get(), size_}; }
  std::span<const Element> span() const { return {data_.get(), size_}; }

  Element& operator[](size_t index) {
    DCHECK_LT(index, size_);
    return data_[index];
  }
  Element operator[](size_t index) const {
    DCHECK_LT(index, size_);
    return data_[index];
  }

 private:
  struct Free {
    void operator()(Element* data) const {
      if (mapped.empty()) {
        std::free(data);
      } else {
        UnmapHugePages(mapped);
      }
    }
    std::span<std::byte> mapped = {};  // empty: from the allocator
  };
  using Memory = std::unique_ptr<Element[], Free>;

  static Memory Allocate(size_t element_count) {
    if (element_count == 0) return nullptr;
    CHECK_LE(element_count,
             (std::numeric_limits<size_t>::max() - kHugePageBytes) / sizeof(Element));
    // aligned_alloc wants a multiple of the alignment.
    const size_t byte_count =
        (element_count * sizeof(Element) + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
    return byte_count < kHugePageBytes ? AllocateSmall(byte_count) : AllocateLarge(byte_count);
  }

  static Memory AllocateSmall(size_t byte_count) {
    auto* data = static_cast<Element*>(std::aligned_alloc(kAlignmentBytes, byte_count));
    if (data == nullptr) throw std::bad_alloc();  // as operator new has it; main() tells the user
    std::memset(data, 0, byte_count);
    return Memory(data);
  }

  static Memory AllocateLarge(size_t byte_count) {
    const std::span<std::byte> mapped = MapHugePages(byte_count);
    // Only the pages that are filled; a system without huge pages goes on with small ones.
    madvise(mapped.data(), byte_count / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
    std::memset(mapped.data(), 0, byte_count);  // now, so that too little memory shows here
    return Memory(reinterpret_cast<Element*>(mapped.data()), Free{mapped});
  }

  Memory data_;
  size_t size_ = 0;
};

using AlignedBuffer = AlignedArray<float>;

}  // namespace weir::tensor
