// The kernels of a card as the tables that model and policies are written against.
//
// Place in the life of a batch: forward, loss, backward and what follows until the push.
// Thread rule: any thread, each with its own stream.
#pragma once

#include <cstdint>

#include "common/kernels/compute.h"
#include "gpu/device/cuda_device.h"

namespace weir::gpu {

// batch_rows: of the largest batch; a card takes it whole.
kernels::Compute CudaCompute(CudaDevice& device, kernels::Precision precision, int64_t batch_rows);

}  // namespace weir::gpu
