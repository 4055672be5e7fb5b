// A batch where the model reads it: on the CPU's device where it lies, elsewhere a copy, which
// leaves in one piece from pinned memory.
//
// Place in the life of a batch: cut batch -> **upload** -> forward, backward.
// Thread rule: thread-compatible; one per batch under way. Owns the copy, which grows to the
// largest batch so far. The device outlives it.
#pragma once

#include <cstdint>
#include <vector>

#include "common/device/buffers.h"
#include "common/kernels/table_views.h"
#include "common/kernels/views.h"
#include "worker/data/batch.h"
#include "worker/model/slice.h"

namespace weir::model {

class DeviceBatch {
 public:
  explicit DeviceBatch(device::Device& device) : device_(&device) {}

  // Enqueues the copy. The batch must stay as it is while this is used for it, and whatever read
  // the one before has happened.
  void Set(const data::Batch& batch, device::Stream& stream);

  // As it was set.
  const data::Batch& host() const { return *host_; }
  int64_t row_count() const { return host_->row_count; }

  // Of where it is: the same for batches that are read from the same places.
  uint64_t LayoutKey() const;

  // [slice's rows, dense features], and [slice's rows].
  kernels::ConstDeviceMatrix Dense(const Slice& slice, int64_t feature_count) const;
  kernels::ConstDeviceVector Labels(const Slice& slice) const;
  kernels::TablesView Tables(const Slice& slice) const;

 private:
  class Writer;
  void Lend(const data::Batch& batch);
  void Copy(const data::Batch& batch, device::Stream& stream);

  device::Device* device_;
  const data::Batch* host_ = nullptr;
  device::Mirror<uint8_t> copy_;            // not on the CPU
  std::vector<kernels::TableView> tables_;  // on the CPU
  device::Pointer<const float> dense_, labels_;
  device::Pointer<const kernels::TableView> table_views_;
};

}  // namespace weir::model
