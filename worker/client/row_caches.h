// Where a worker keeps rows that it has pulled: on the host, or on its device where that has memory
// of its own, or nowhere.
//
// Place in the life of a batch: **pull rows**.
// Thread rule: as the caches.
#pragma once

#include <memory>

#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "worker/client/device_row_cache.h"
#include "worker/client/row_cache.h"

namespace weir::worker {

struct RowCaches {
  // One of them at most; null: there is none.
  std::unique_ptr<RowCache> on_host = nullptr;
  std::unique_ptr<DeviceRowCache> on_device = nullptr;

  bool empty() const { return on_host == nullptr && on_device == nullptr; }
  RowSlots::Counts counts() const {
    return on_device != nullptr ? on_device->counts() : on_host->counts();
  }
};

inline RowCaches MakeRowCaches(const v1::RowCacheConfig& config, const ModelLayout& layout,
                               const kernels::Compute& compute) {
  if (config.rows() == 0 || layout.tables().empty()) return {};
  const auto rows = static_cast<size_t>(config.rows());
  const auto max_age = static_cast<uint64_t>(config.max_age());
  const auto dimension = static_cast<size_t>(layout.embedding_dimension());
  RowCaches caches;
  if (compute.device->is_host()) {
    caches.on_host = std::make_unique<RowCache>(rows, max_age, dimension);
  } else {
    caches.on_device = std::make_unique<DeviceRowCache>(compute, rows, max_age, dimension);
  }
  return caches;
}

}  // namespace weir::worker
