#include "gpu/open_device.h"

#include "common/base/strings.h"

namespace weir::gpu {

Result<OpenedDevice> OpenDevice(const device::DeviceName& name, size_t /*memory_bytes*/,
                                kernels::Precision precision, int64_t /*batch_rows*/) {
  WEIR_RETURN_IF_ERROR(CheckDevice(name));
  return OpenedDevice{nullptr, kernels::CpuCompute(precision)};
}

Status CheckDevice(const device::DeviceName& name) {
  if (!name.is_cuda) return OkStatus();
  return FailedPrecondition(
      StrCat("cuda:", name.number,
             ": this build has no CUDA; configure it with the preset `cuda` (docs/guides/gpu.md), "
             "or use cpu"));
}

}  // namespace weir::gpu
