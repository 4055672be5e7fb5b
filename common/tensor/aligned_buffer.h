// Owned floats at 64-byte alignment: weights, activations, residuals and shards all live in one of
// these, so vector loads never straddle a cache line and views may assume their alignment.
//
// Zero at construction. The size is fixed; move-only, a moved-from buffer is empty. Nothing is
// promised about memory beyond size(). Views (span) borrow and must not outlive the buffer.
//
// Place in the life of a batch: none; what the other parts keep their numbers in.
// Thread rule: thread-compatible.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "common/base/check.h"

namespace weir::tensor {

inline constexpr size_t kAlignmentBytes = 64;

class AlignedBuffer {
 public:
  AlignedBuffer() = default;

  // element_count floats, all zero. Running out of memory ends the process.
  explicit AlignedBuffer(size_t element_count)
      : data_(Allocate(element_count)), size_(element_count) {}

  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  std::span<float> span() { return {data_.get(), size_}; }
  std::span<const float> span() const { return {data_.get(), size_}; }

  float& operator[](size_t index) {
    DCHECK_LT(index, size_);
    return data_[index];
  }
  float operator[](size_t index) const {
    DCHECK_LT(index, size_);
    return data_[index];
  }

 private:
  struct Free {
    void operator()(float* data) const { std::free(data); }
  };
  using Memory = std::unique_ptr<float[], Free>;

  static Memory Allocate(size_t element_count) {
    if (element_count == 0) return nullptr;
    CHECK_LE(element_count, (std::numeric_limits<size_t>::max() - kAlignmentBytes) / sizeof(float));
    // aligned_alloc wants a multiple of the alignment.
    const size_t byte_count =
        (element_count * sizeof(float) + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
    auto* data = static_cast<float*>(std::aligned_alloc(kAlignmentBytes, byte_count));
    if (data == nullptr) throw std::bad_alloc();  // as operator new has it; main() tells the user
    std::memset(data, 0, byte_count);
    return Memory(data);
  }

  Memory data_;
  size_t size_ = 0;
};

}  // namespace weir::tensor
