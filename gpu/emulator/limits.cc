// What a launch and a thread must keep to on a card: sizes of grids and blocks, shared memory
// beyond 48 KiB only of kernels that were given it, and the card that is the thread's current one.
#include <algorithm>
#include <map>
#include <mutex>

#include "gpu/emulator/machine.h"
#include "gpu/emulator/stream_items.h"

namespace weir::gpu::emulator {
namespace {

constexpr size_t kSharedUnasked = 48 << 10;
constexpr unsigned kMostAcross = 65535;  // blocks in a grid's second and third dimension

thread_local int current_device = 0;

// Of kernels that were given one, by their address.
struct SharedLimits {
  std::map<const void*, size_t> bytes;
  uint64_t lowered = 0;
};

SharedLimits& TheSharedLimits() {
  static auto* const limits = new SharedLimits;
  return *limits;
}

bool AreSizesGood(dim3 grid, dim3 block) {
  const bool is_grid = grid.x >= 1 && grid.x <= INT32_MAX && grid.y >= 1 && grid.z >= 1 &&
                       grid.y <= kMostAcross && grid.z <= kMostAcross;
  const size_t threads = size_t{block.x} * block.y * block.z;
  return is_grid && threads >= 1 && threads <= kMaxThreads && block.z <= 64;
}

size_t SharedLimitOf(const void* kernel) {
  const auto& limits = TheSharedLimits().bytes;
  const auto found = limits.find(kernel);
  return found == limits.end() ? kSharedUnasked : std::max(found->second, kSharedUnasked);
}

}  // namespace

int CurrentDevice() { return current_device; }

bool IsOfCurrentDevice(cudaStream_t stream) {
  return stream == nullptr || stream->device == current_device;
}

cudaError_t CheckLaunch(const void* kernel, dim3 grid, dim3 block, size_t shared,
                        cudaStream_t stream) {
  const std::lock_guard locked(RuntimeMutex());
  if (!IsOfCurrentDevice(stream)) return cudaErrorInvalidResourceHandle;
  const bool is_good = AreSizesGood(grid, block) && shared <= SharedLimitOf(kernel);
  return is_good ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t SetSharedLimit(const void* kernel, int bytes) {
  const std::lock_guard locked(RuntimeMutex());
  if (bytes < 0 || static_cast<size_t>(bytes) > faults().shared_bytes) {
    return WithThreadError(cudaErrorInvalidValue);
  }
  size_t& limit = TheSharedLimits().bytes[kernel];
  if (static_cast<size_t>(bytes) < limit) ++TheSharedLimits().lowered;
  limit = static_cast<size_t>(bytes);
  return cudaSuccess;
}

uint64_t LoweredSharedLimits() {
  const std::lock_guard locked(RuntimeMutex());
  return TheSharedLimits().lowered;
}

}  // namespace weir::gpu::emulator

using weir::gpu::emulator::current_device;
using weir::gpu::emulator::faults;

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= faults().cards) return cudaErrorInvalidDevice;
  current_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int /*device*/) {
  *value = static_cast<int>(faults().shared_bytes);
  return cudaSuccess;
}
