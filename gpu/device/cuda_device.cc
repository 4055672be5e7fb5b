#include "gpu/device/cuda_device.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "gpu/cuda.h"
#include "gpu/device/cuda_stream.h"
#include "gpu/device/find_card.h"

namespace weir::gpu {
namespace {

std::string Mebibytes(size_t byte_count) {
  return StrCat((byte_count + (size_t{1} << 20) - 1) >> 20, " MiB");
}

}  // namespace

class CudaDevice::DeviceBlock final : public device::Block {
 public:
  DeviceBlock(CudaDevice* device, void* address, size_t byte_count, std::string purpose)
      : Block(address), device_(*device), byte_count_(byte_count), purpose_(std::move(purpose)) {}
  ~DeviceBlock() override {
    cudaFree(address());
    device_.GiveBack(byte_count_, purpose_);
  }

 private:
  CudaDevice& device_;
  const size_t byte_count_;
  const std::string purpose_;
};

class CudaDevice::PinnedBlock final : public device::Block {
 public:
  explicit PinnedBlock(void* address) : Block(address) {}
  ~PinnedBlock() override { cudaFreeHost(address()); }
};

Result<std::unique_ptr<CudaDevice>> CudaDevice::Open(int number, size_t memory_bytes) {
  WEIR_ASSIGN_OR_RETURN(const cudaDeviceProp properties, FindCard(number));
  WEIR_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(number), "choosing the device"));
  size_t free_bytes = 0, total_bytes = 0;
  WEIR_RETURN_IF_ERROR(
      CudaStatus(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the card's memory"));
  const size_t budget_bytes = memory_bytes == 0 ? free_bytes : std::min(memory_bytes, total_bytes);
  return std::unique_ptr<CudaDevice>(
      new CudaDevice(number, budget_bytes, properties.name, properties.multiProcessorCount));
}

CudaDevice::CudaDevice(int number, size_t budget_bytes, std::string card_name,
                       int multiprocessor_count)
    : number_(number),
      budget_bytes_(budget_bytes),
      card_name_(std::move(card_name)),
      multiprocessor_count_(multiprocessor_count) {}

std::string CudaDevice::name() const { return StrCat("cuda:", number_); }

size_t CudaDevice::used_bytes() const {
  const MutexLock lock(mutex_);
  return used_bytes_;
}

void CudaDevice::Take(size_t byte_count, const std::string& purpose) {
  const MutexLock lock(mutex_);
  if (byte_count > budget_bytes_ - used_bytes_) {
    throw OutOfMemory(Message(byte_count, purpose));
  }
  used_bytes_ += byte_count;
  bytes_of_[purpose] += byte_count;
}

void CudaDevice::GiveBack(size_t byte_count, const std::string& purpose) {
  const MutexLock lock(mutex_);
  used_bytes_ -= byte_count;
  bytes_of_[purpose] -= byte_count;
}

// The largest first: there something can be saved.
std::string CudaDevice::Message(size_t byte_count, const std::string& purpose) const {
  std::vector<std::pair<size_t, std::string>> largest;
  for (const auto& [name, bytes] : bytes_of_) {
    if (bytes > 0) largest.emplace_back(bytes, name);
  }
  std::ranges::sort(largest, std::greater());
  std::string taken;
  for (size_t i = 0; i < std::min<size_t>(largest.size(), 3); ++i) {
    taken += StrCat(i == 0 ? ": " : ", ", largest[i].second, " ", Mebibytes(largest[i].first));
  }
  return StrCat("no memory on ", name(), " for ", purpose, ": ", Mebibytes(byte_count),
                " asked for, ", Mebibytes(budget_bytes_), " in all, of which ",
                Mebibytes(used_bytes_), " are taken", taken,
                "; use fewer --threads, a smaller data.batch_size, smaller tables or a larger "
                "--device_memory");
}

// Whoever asks first after a kernel has failed hears of that, and memory would not help.
std::string CudaDevice::WhyNot(cudaError_t error, size_t byte_count,
                               const std::string& purpose) const {
  if (error == cudaErrorMemoryAllocation) {
    const MutexLock lock(mutex_);
    return StrCat(Message(byte_count, purpose), " (", cudaGetErrorString(error), ")");
  }
  return CudaStatus(error, StrCat("memory on ", name(), " for ", purpose).c_str()).message();
}

std::unique_ptr<device::Block> CudaDevice::Allocate(size_t byte_count, const std::string& purpose) {
  Take(byte_count, purpose);
  // cudaMalloc gives no address for nothing, and views of nothing have one.
  const size_t at_least = std::max<size_t>(byte_count, 1);
  void* address = nullptr;
  cudaSetDevice(number_);
  cudaError_t error = cudaMalloc(&address, at_least);
  // By the default stream; other streams do not wait for it by themselves.
  if (error == cudaSuccess) error = cudaMemsetAsync(address, 0, at_least, nullptr);
  if (error == cudaSuccess) error = cudaStreamSynchronize(nullptr);
  if (error != cudaSuccess) {
    cudaFree(address);
    GiveBack(byte_count, purpose);
    cudaGetLastError();  // it is told here, and not of the next launch
    throw OutOfMemory(WhyNot(error, byte_count, purpose));
  }
  return std::make_unique<DeviceBlock>(this, address, byte_count, purpose);
}

std::unique_ptr<device::Block> CudaDevice::AllocatePinned(size_t byte_count,
                                                          const std::string& purpose) {
  void* address = nullptr;
  const size_t at_least = std::max<size_t>(byte_count, 1);
  cudaSetDevice(number_);
  if (const cudaError_t error = cudaMallocHost(&address, at_least); error != cudaSuccess) {
    cudaGetLastError();
    throw OutOfMemory(
        error == cudaErrorMemoryAllocation
            ? StrCat("no pinned memory for ", purpose, ": ", Mebibytes(byte_count), " asked for (",
                     cudaGetErrorString(error), ")")
            : CudaStatus(error, StrCat("pinned memory for ", purpose).c_str()).message());
  }
  std::memset(address, 0, at_least);
  return std::make_unique<PinnedBlock>(address);
}

std::unique_ptr<device::Stream> CudaDevice::MakeStream() {
  return std::make_unique<CudaStream>(*this, number_);
}

// Of the thread's card, as streams are.
std::unique_ptr<device::Event> CudaDevice::MakeEvent() {
  cudaSetDevice(number_);
  return std::make_unique<CudaEvent>();
}

}  // namespace weir::gpu
