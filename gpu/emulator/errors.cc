// What failed: a kernel, for good, or a call of a thread, which is told once.
#include <mutex>

#include "gpu/emulator/machine.h"
#include "gpu/emulator/stream_items.h"

using weir::gpu::emulator::LastError;
using weir::gpu::emulator::RuntimeMutex;

cudaError_t cudaGetLastError() {
  const std::lock_guard locked(RuntimeMutex());
  const cudaError_t of_thread = weir::gpu::emulator::TakeThreadError();
  return LastError() != cudaSuccess ? LastError() : of_thread;
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    default:
      return "an error";
  }
}
