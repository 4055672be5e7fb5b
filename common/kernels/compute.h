// What a model computes with: a device, the kernels for its memory, and how much of a batch these
// take at a time.
//
// Place in the life of a batch: forward, loss, backward and what follows until the push.
// Thread rule: a value; device and kernels outlive whoever has it.
#pragma once

#include <cstdint>

#include "common/device/device.h"
#include "common/kernels/kernel_table.h"
#include "common/kernels/select_table.h"
#include "common/kernels/split_table.h"
#include "common/kernels/update_table.h"

namespace weir::kernels {

// kTf32: where a device has nothing for it, as kF32.
enum class Precision { kF32, kBf16, kTf32 };

struct Compute {
  device::Device* device = nullptr;
  const DeviceKernels* kernels = nullptr;
  const SelectTable* select = nullptr;  // null: the CPU's
  const SplitTable* split = nullptr;    // null: the CPU's
  const UpdateTable* update = nullptr;  // null: the CPU's
  // Rows of a batch that are computed together: on the CPU as many as its caches hold the
  // activations of, on a card the whole batch.
  int64_t slice_rows = 0;
  // What one linear layer gives and the next one takes lies turned, sample after sample: so
  // products on a card end with bias, ReLU and their gradients.
  bool turns_hidden = false;
};

// The CPU's.
Compute CpuCompute(Precision precision);

}  // namespace weir::kernels
