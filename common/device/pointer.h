// Addresses of a device's memory, of another type than the host's: what is on a card cannot be read
// where it was not copied from by mistake. Kernels and copies take the address out; nobody else
// does, but for code of the CPU's own device (common/device/cpu_device.h), whose memory is the
// host's.
//
// Place in the life of a batch: from the upload of a batch to the download of what is sent.
// Thread rule: values; they borrow. C++17-clean, so that a CUDA compiler can include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/base/on_device.h"

namespace weir::device {

template <typename T>
class Pointer {
 public:
  Pointer() = default;
  Pointer(std::nullptr_t) {}  // NOLINT: as any pointer
  explicit Pointer(T* address) : address_(address) {}
  // What can be written can be read.
  template <typename U, typename = std::enable_if_t<std::is_same_v<const U, T>>>
  Pointer(const Pointer<U>& other) : address_(other.address()) {}  // NOLINT

  WEIR_ON_DEVICE T* address() const { return address_; }

  Pointer operator+(int64_t elements) const { return Pointer(address_ + elements); }
  friend bool operator==(const Pointer& a, const Pointer& b) { return a.address_ == b.address_; }
  friend bool operator!=(const Pointer& a, const Pointer& b) { return a.address_ != b.address_; }

 private:
  T* address_ = nullptr;
};

// `size` elements from `data` on.
template <typename T>
struct Span {
  Span() = default;
  Span(Pointer<T> data_in, size_t size_in) : data(data_in), size(size_in) {}
  template <typename U, typename = std::enable_if_t<std::is_same_v<const U, T>>>
  Span(const Span<U>& other) : data(other.data), size(other.size) {}  // NOLINT

  bool empty() const { return size == 0; }
  Span first(size_t count) const { return {data, count}; }
  Span subspan(size_t begin, size_t count) const {
    return {data + static_cast<int64_t>(begin), count};
  }

  Pointer<T> data;
  size_t size = 0;
};

}  // namespace weir::device
