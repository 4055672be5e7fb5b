// Keys of what a stream repeats (Stream::Repeat): a hash of all that is enqueued is told, addresses
// among it.
//
// Place in the life of a batch: forward, loss and backward, what follows them, and selection.
// Thread rule: pure functions.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "common/base/random.h"
#include "common/device/buffers.h"
#include "common/device/pointer.h"

namespace weir::device {

// Whose key it is: its first word, so that nobody's is another's.
enum class Repeated : uint64_t { kSlice = 1, kDeadUnits, kClipping, kSelection };

template <typename Number>
uint64_t AddToKey(uint64_t key, Number number) {
  if constexpr (std::is_floating_point_v<Number>) {
    return KeyedHash(key, std::bit_cast<uint64_t>(static_cast<double>(number)));
  } else {
    return KeyedHash(key, number);
  }
}
template <typename T>
uint64_t AddToKey(uint64_t key, Pointer<T> pointer) {
  return KeyedHash(key, reinterpret_cast<uintptr_t>(pointer.address()));
}
template <typename T>
uint64_t AddToKey(uint64_t key, Span<T> span) {
  return KeyedHash(AddToKey(key, span.data), span.size);
}
// Of both sides, for copies.
template <typename T>
uint64_t AddToKey(uint64_t key, const Mirror<T>& mirror) {
  return KeyedHash(AddToKey(key, mirror.device()),
                   reinterpret_cast<uintptr_t>(mirror.host().data()));
}

template <typename... Told>
uint64_t RepeatKey(Repeated what, const Told&... told) {
  auto key = static_cast<uint64_t>(what);
  ((key = AddToKey(key, told)), ...);
  return key;
}

}  // namespace weir::device
