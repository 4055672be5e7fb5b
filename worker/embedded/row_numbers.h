// The rows of a batch by their numbers among those of all tables, on a device.
//
// Place in the life of a batch: **pull rows** ... apply.
// Thread rule: any thread. Buffers are used again in the stream that they were used in, and so not
// before whatever was enqueued there. The layout and the device outlive it, and it what it gives.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/mutex.h"
#include "common/device/buffers.h"
#include "common/kernels/update_table.h"
#include "common/layout/model_layout.h"
#include "worker/data/batch.h"

namespace weir::worker {

class RowNumbers {
 public:
  RowNumbers(const ModelLayout& layout, device::Device& device);

  // Ids of a table follow one another.
  uint32_t Of(uint32_t table, uint64_t id) const {
    return first_[table] + static_cast<uint32_t>(id);
  }

  struct Numbers {
    kernels::RowNumbers view() const { return {mirror.device().data, count}; }
    std::span<const uint32_t> on_host() const {
      return mirror.host().first(static_cast<size_t>(count));
    }
    device::Stream* stream = nullptr;
    device::Mirror<uint32_t> mirror;
    int64_t count = 0;
    // Of rules that move rows at rest (row_rests.h).
    device::Mirror<kernels::Rest> to_read, to_step;
  };
  struct GiveBack {
    void operator()(Numbers* numbers) const { owner->Keep(numbers); }
    RowNumbers* owner = nullptr;
  };
  using Uploaded = std::unique_ptr<Numbers, GiveBack>;

  // Of the batch's unique ids, table after table. What was uploaded in the stream before has
  // arrived: a step has waited for it.
  Uploaded Upload(const data::Batch& batch, device::Stream& stream);

 private:
  void Keep(Numbers* numbers);
  std::unique_ptr<Numbers> Take(device::Stream& stream);

  device::Device& device_;
  std::vector<uint32_t> first_;  // by table
  Mutex mutex_;
  std::vector<std::unique_ptr<Numbers>> spare_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::worker
