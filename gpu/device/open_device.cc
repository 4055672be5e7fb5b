#include "gpu/open_device.h"

#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "gpu/device/find_card.h"

namespace weir::gpu {

Result<OpenedDevice> OpenDevice(const device::DeviceName& name, size_t memory_bytes,
                                kernels::Precision precision, int64_t batch_rows) {
  if (!name.is_cuda) return OpenedDevice{nullptr, kernels::CpuCompute(precision)};
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<CudaDevice> card,
                        CudaDevice::Open(name.number, memory_bytes));
  const kernels::Compute compute = CudaCompute(*card, precision, batch_rows);
  return OpenedDevice{std::move(card), compute};
}

Status CheckDevice(const device::DeviceName& name) {
  return name.is_cuda ? FindCard(name.number).status() : OkStatus();
}

}  // namespace weir::gpu
