// The device that --device names, opened. A build without CUDA has the CPU alone, and says so of
// cards.
//
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/base/status.h"
#include "common/device/device.h"
#include "common/device/device_name.h"
#include "common/kernels/compute.h"

namespace weir::gpu {

struct OpenedDevice {
  std::unique_ptr<device::Device> card;  // null: the CPU, which is always open
  kernels::Compute compute;
};

// memory_bytes: the budget on a card; 0: what is free. batch_rows: of the largest batch, which a
// card takes at a time. FailedPrecondition says what is missing.
Result<OpenedDevice> OpenDevice(const device::DeviceName& name, size_t memory_bytes,
                                kernels::Precision precision, int64_t batch_rows);

// Whether it could be opened, as far as that is known without taking any of a card's memory: the
// same FailedPrecondition. For who starts processes that will.
Status CheckDevice(const device::DeviceName& name);

}  // namespace weir::gpu
