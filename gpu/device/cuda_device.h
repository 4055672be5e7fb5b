// A card as a device (common/device/device.h), written against CUDA's runtime: the real one, or the
// emulator's.
//
// It hands out no more memory than its budget; who asks for more hears how much there is, and who
// has it.
//
// Place in the life of a batch: below model, step and compress.
// Thread rule: any thread; a stream belongs to the thread that makes it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/device/device.h"
#include "gpu/cuda.h"

namespace weir::gpu {

class CudaDevice final : public device::Device {
 public:
  // The card of that number. memory_bytes: its budget; 0: what is free when it is opened. Fails,
  // saying what is missing: no card, none of that number, a driver that is too old.
  static Result<std::unique_ptr<CudaDevice>> Open(int number, size_t memory_bytes = 0);

  // What the card says it is ("NVIDIA H100 80GB HBM3").
  const std::string& card_name() const { return card_name_; }
  int multiprocessor_count() const { return multiprocessor_count_; }
  size_t budget_bytes() const { return budget_bytes_; }
  size_t used_bytes() const;

  std::string name() const override;
  bool is_host() const override { return false; }
  std::unique_ptr<device::Block> Allocate(size_t byte_count, const std::string& purpose) override;
  std::unique_ptr<device::Block> AllocatePinned(size_t byte_count,
                                                const std::string& purpose) override;
  std::unique_ptr<device::Stream> MakeStream() override;
  std::unique_ptr<device::Event> MakeEvent() override;

 private:
  class DeviceBlock;
  class PinnedBlock;

  CudaDevice(int number, size_t budget_bytes, std::string card_name, int multiprocessor_count);
  // Takes it from the budget, or throws OutOfMemory.
  void Take(size_t byte_count, const std::string& purpose);
  void GiveBack(size_t byte_count, const std::string& purpose);
  std::string Message(size_t byte_count, const std::string& purpose) const WEIR_REQUIRES(mutex_);
  std::string WhyNot(cudaError_t error, size_t byte_count, const std::string& purpose) const;

  const int number_;
  const size_t budget_bytes_;
  const std::string card_name_;
  const int multiprocessor_count_;
  mutable Mutex mutex_;
  size_t used_bytes_ WEIR_GUARDED_BY(mutex_) = 0;
  std::map<std::string, size_t> bytes_of_ WEIR_GUARDED_BY(mutex_);  // by purpose
};

}  // namespace weir::gpu
