// A stream of a card, and its events (common/device/device.h).
//
// The first error of a stream is kept with the name of what failed; from then on nothing more is
// enqueued, and Synchronize tells it. Of what fails while it runs a card says no name: the message
// has what was enqueued last by then (CUDA_LAUNCH_BLOCKING=1 makes that what failed).
//
// Place in the life of a batch: all that a trainer computes on a card is enqueued here.
// Thread rule: one thread at a time. The device outlives it.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

#include "common/base/status.h"
#include "common/device/buffers.h"
#include "common/device/device.h"
#include "gpu/cuda.h"
#include "gpu/device/cuda_graphs.h"

namespace weir::gpu {

class CudaDevice;
class LibraryProducts;

class CudaEvent final : public device::Event {
 public:
  CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() override;

  Status Synchronize() override;
  cudaEvent_t handle() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaStream final : public device::Stream {
 public:
  // device: outlives the stream. number: the device's.
  CudaStream(CudaDevice& device, int number);
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() override;

  // For what is enqueued at once: it ends the time in which the stream had nothing to do.
  cudaStream_t handle();
  // Enqueues nothing any more.
  bool has_failed() const { return !status_.ok(); }
  // Keeps the error of what was enqueued, if it is the first. what: for the message; a literal.
  void Keep(cudaError_t error, const char* what);
  void Keep(const Status& error);

  // At least so many bytes of the card, of any content, good until the next call; for what is
  // enqueued in this stream alone. Null, with the error kept, where there is no memory.
  void* Scratch(size_t byte_count);
  // This stream's own.
  LibraryProducts& products() { return *products_; }

  void Repeat(const char* name, uint64_t key, FunctionRef<void()> enqueue) override;
  void Record(device::Event* event) override;
  void Wait(const device::Event& event) override;
  Status Synchronize() override;
  double idle_seconds() const override { return idle_seconds_; }

 protected:
  void DoCopyToDevice(const void* from, void* to, size_t byte_count) override;
  void DoCopyToHost(const void* from, void* to, size_t byte_count) override;
  void DoCopyOnDevice(const void* from, void* to, size_t byte_count) override;
  void DoZero(void* at, size_t byte_count) override;

 private:
  // Until all has happened; whether nothing has failed.
  bool Await();

  CudaDevice& device_;
  cudaStream_t stream_ = nullptr;
  Status status_;
  const char* last_;  // what was enqueued last
  std::optional<std::chrono::steady_clock::time_point> idle_since_;
  double idle_seconds_ = 0;
  device::Buffer<uint8_t> scratch_;
  CudaGraphs graphs_;
  const std::unique_ptr<LibraryProducts> products_;
};

// As an error of the world: what failed, or heard of what failed before it, and why.
Status CudaStatus(cudaError_t error, const char* what);

}  // namespace weir::gpu
