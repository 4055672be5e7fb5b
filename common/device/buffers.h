// Owned numbers: a Buffer's are a device's, a PinnedBuffer's the host's, where the device can copy
// from and to, a Mirror's both.
//
// Place in the life of a batch: none; what model, step and policies keep their numbers in.
// Thread rule: thread-compatible. Zero at construction; the size is fixed; move-only. Making one
// throws OutOfMemory. The device outlives them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "common/base/check.h"
#include "common/device/device.h"

namespace weir::device {

template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>, "devices copy bytes");

 public:
  Buffer() = default;
  Buffer(Device& device, size_t size, const std::string& purpose)
      : block_(device.Allocate(size * sizeof(T), purpose)), size_(size) {}
  Buffer(Buffer&& other) noexcept
      : block_(std::move(other.block_)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    block_ = std::move(other.block_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  Pointer<T> data() const {
    return Pointer<T>(block_ ? static_cast<T*>(block_->address()) : nullptr);
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Span<T> span() const { return {data(), size_}; }

 private:
  std::unique_ptr<Block> block_;
  size_t size_ = 0;
};

template <typename T>
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(Device& device, size_t size, const std::string& purpose)
      : block_(device.AllocatePinned(size * sizeof(T), purpose)), size_(size) {}
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : block_(std::move(other.block_)), size_(std::exchange(other.size_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    block_ = std::move(other.block_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  size_t size() const { return size_; }
  std::span<T> span() const {
    return {block_ ? static_cast<T*>(block_->address()) : nullptr, size_};
  }

 private:
  std::unique_ptr<Block> block_;
  size_t size_ = 0;
};

// On the CPU's device both sides are the same memory, and copies do nothing.
template <typename T>
class Mirror {
 public:
  Mirror() = default;
  Mirror(Device& device, size_t size, const std::string& purpose)
      : device_(device, size, purpose), is_host_(device.is_host()) {
    if (!is_host_) pinned_ = PinnedBuffer<T>(device, size, purpose);
  }

  size_t size() const { return device_.size(); }
  std::span<T> host() const {
    if (!is_host_) return pinned_.span();
    return {device_.data().address(), device_.size()};
  }
  Span<T> device() const { return device_.span(); }

  // The first `count` elements, from one side to the other.
  void Upload(Stream& stream, size_t count) const {
    CHECK_LE(count, size());
    if (is_host_ || count == 0) return;
    stream.CopyToDevice<T>(host().first(count), device().first(count));
  }
  void Download(Stream& stream, size_t count) const {
    CHECK_LE(count, size());
    if (is_host_ || count == 0) return;
    stream.CopyToHost<T>(device().first(count), host().first(count));
  }

 private:
  Buffer<T> device_;
  PinnedBuffer<T> pinned_;
  bool is_host_ = true;
};

}  // namespace weir::device
