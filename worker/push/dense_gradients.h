// A step's gradients of dense tensors, flat, where they are looked at.
//
// Place in the life of a batch: backward -> **select** -> encode -> push.
// Thread rule: a value that borrows them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "common/device/device.h"

namespace weir::worker {

struct DenseGradients {
  std::span<const float> on_host;  // of layers that are read there; empty where there are none
  device::Pointer<const float> on_device;
  device::Stream* stream = nullptr;                   // null on the CPU
  uint32_t first_gone = UINT32_MAX;                   // tensors from here on have left before
  const std::function<void()>* once_taken = nullptr;  // StepGradients'; may be null or empty
};

}  // namespace weir::worker
