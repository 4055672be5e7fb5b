// A card's memory is the host's, of a limit, and holds no zeros when it is new.
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "gpu/emulator/machine.h"
#include "gpu/emulator/stream_items.h"

namespace weir::gpu::emulator {
namespace {

constexpr int kRuntimeVersion = 12000;
constexpr int kPoison = 0xff;  // a NaN wherever it is read as a float

struct Memory {
  std::mutex mutex;
  std::map<void*, size_t> sizes, pinned;  // by where they begin
  size_t used_bytes = 0;
};

Memory& TheMemory() {
  static auto* const memory = new Memory;
  return *memory;
}

void* NewBlock(size_t size) {
  void* at = nullptr;
  if (posix_memalign(&at, 256, size) != 0) return nullptr;
  std::memset(at, kPoison, size);
  return at;
}

}  // namespace

bool IsPinned(const void* at, size_t size) {
  const std::lock_guard lock(TheMemory().mutex);
  auto block = TheMemory().pinned.upper_bound(const_cast<void*>(at));
  if (block == TheMemory().pinned.begin()) return false;
  --block;
  return static_cast<const char*>(at) + size <=
         static_cast<const char*>(block->first) + block->second;
}

}  // namespace weir::gpu::emulator

using weir::gpu::emulator::BreaksCaptureOfThread;
using weir::gpu::emulator::faults;
using weir::gpu::emulator::TheMemory;
using weir::gpu::emulator::WithThreadError;

cudaError_t cudaDriverGetVersion(int* version) {
  *version = faults().driver_version;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = weir::gpu::emulator::kRuntimeVersion;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = faults().cards;
  if (faults().driver_version < weir::gpu::emulator::kRuntimeVersion) {
    return cudaErrorInsufficientDriver;
  }
  return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int /*device*/) {
  std::strcpy(properties->name, "an emulated card");
  properties->totalGlobalMem = faults().memory_bytes;
  properties->multiProcessorCount = 4;
  properties->major = faults().capability / 10;
  properties->minor = faults().capability % 10;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  const std::lock_guard lock(TheMemory().mutex);
  *total_bytes = faults().memory_bytes;
  *free_bytes = *total_bytes - TheMemory().used_bytes;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** at, size_t size) {
  if (BreaksCaptureOfThread()) return cudaErrorStreamCaptureUnsupported;
  const std::lock_guard lock(TheMemory().mutex);
  *at = nullptr;
  if (size > faults().memory_bytes - TheMemory().used_bytes) {
    return WithThreadError(cudaErrorMemoryAllocation);
  }
  *at = weir::gpu::emulator::NewBlock(size);
  if (*at == nullptr) return WithThreadError(cudaErrorMemoryAllocation);
  TheMemory().sizes[*at] = size;
  TheMemory().used_bytes += size;
  return cudaSuccess;
}

cudaError_t cudaFree(void* at) {
  if (at == nullptr) return cudaSuccess;
  if (BreaksCaptureOfThread()) return cudaErrorStreamCaptureUnsupported;
  const cudaError_t error = cudaDeviceSynchronize();
  const std::lock_guard lock(TheMemory().mutex);
  const auto found = TheMemory().sizes.find(at);
  if (found == TheMemory().sizes.end()) return cudaErrorInvalidValue;
  TheMemory().used_bytes -= found->second;
  TheMemory().sizes.erase(found);
  std::free(at);
  return error;
}

cudaError_t cudaMallocHost(void** at, size_t size) {
  if (BreaksCaptureOfThread()) return cudaErrorStreamCaptureUnsupported;
  const std::lock_guard lock(TheMemory().mutex);
  *at = weir::gpu::emulator::NewBlock(size);
  if (*at == nullptr) return cudaErrorMemoryAllocation;
  TheMemory().pinned[*at] = size;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* at) {
  if (BreaksCaptureOfThread()) return cudaErrorStreamCaptureUnsupported;
  const cudaError_t error = cudaDeviceSynchronize();
  const std::lock_guard lock(TheMemory().mutex);
  if (TheMemory().pinned.erase(at) == 0) return cudaErrorInvalidValue;
  std::free(at);
  return error;
}
