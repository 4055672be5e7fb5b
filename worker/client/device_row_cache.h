// As RowCache, with the rows in the memory of a device: those that were pulled are uploaded once,
// and those that are taken again do not cross.
//
// Place in the life of a batch: **pull rows**.
// Thread rule: any thread, each with its own stream; what streams do with the rows is in order by
// events. The device outlives it, and it what it gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/mutex.h"
#include "common/device/buffers.h"
#include "common/device/step_order.h"
#include "common/kernels/compute.h"
#include "worker/client/row_slots.h"

namespace weir::worker {

class DeviceRowCache {
 public:
  // capacity: rows of all tables together; 0: rows cross every time. max_age: steps. Throws
  // OutOfMemory.
  DeviceRowCache(const kernels::Compute& compute, size_t capacity, uint64_t max_age,
                 size_t dimension);

  // Whether the row need not be asked for: then its slot is held until it is released.
  bool Hold(uint32_t table, uint64_t id, uint64_t step, std::vector<size_t>* held);
  void Release(std::span<const size_t> held);

  // The rows of one pull, as they arrive: those held, and those that were asked for.
  class Arrivals;
  std::unique_ptr<Arrivals> Begin(device::Stream& stream, size_t row_count);
  // Enqueues: puts them where the batch has them, [rows, dimension], and keeps those that were
  // asked for.
  void Place(std::unique_ptr<Arrivals> arrivals, device::Pointer<float> rows);

  RowSlots::Counts counts() const { return slots_.counts(); }

 private:
  std::unique_ptr<Arrivals> Take(device::Stream& stream);
  // For those that are to be kept.
  void FindSlots(const Arrivals& arrivals);

  const kernels::Compute compute_;
  RowSlots slots_;
  const size_t dimension_;
  device::Buffer<float> rows_;  // [slots, dimension]
  device::StepOrder order_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Arrivals>> spare_ WEIR_GUARDED_BY(mutex_);
};

// Of one thread. Used again in the stream that it was used in, once that has done what was
// enqueued.
class DeviceRowCache::Arrivals {
 public:
  // A row that was asked for, and where the batch has it. is_kept: for pulls of later steps.
  void Add(uint32_t table, uint64_t id, uint64_t step, size_t position, std::span<const float> row,
           bool is_kept);
  // A row that is held.
  void AddHeld(size_t slot, size_t position);

 private:
  friend class DeviceRowCache;
  // What of the rows is kept nowhere.
  static constexpr uint32_t kNowhere = UINT32_MAX;

  // To be kept, the how manieth that was added.
  struct Kept {
    uint32_t table;
    uint64_t id, step;
    size_t number;
  };

  device::Stream* stream_ = nullptr;
  size_t added_ = 0, held_ = 0;
  std::vector<Kept> kept_;
  device::Mirror<float> rows_;                  // [added, dimension]
  device::Mirror<uint32_t> positions_, slots_;  // of those added
  device::Mirror<uint32_t> held_positions_, held_slots_;
};

}  // namespace weir::worker
