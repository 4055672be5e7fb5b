// The processor as a device: its memory is the host's, and streams do everything at once.
//
// Thread rule: any thread, streams too, for they keep nothing.
#pragma once

#include <span>

#include "common/device/device.h"

namespace weir::device {

// The one there is.
Device& CpuDevice();

// A stream of it; any thread may use it.
Stream& CpuStream();

// Host memory as the CPU's device has it, and back. Of no other device's.
template <typename T>
Pointer<T> OnCpu(T* address) {
  return Pointer<T>(address);
}
template <typename T>
Span<T> OnCpu(std::span<T> values) {
  return {Pointer<T>(values.data()), values.size()};
}
template <typename T>
T* OnHost(Pointer<T> pointer) {
  return pointer.address();
}
template <typename T>
std::span<T> OnHost(Span<T> values) {
  return {values.data.address(), values.size};
}

}  // namespace weir::device
