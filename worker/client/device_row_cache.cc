#include "worker/client/device_row_cache.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace weir::worker {
namespace {

template <typename T>
void GrowMirror(device::Device& device, size_t count, device::Mirror<T>* mirror) {
  if (mirror->size() < count) *mirror = {device, count + count / 4, "embedding rows"};
}

kernels::RowNumbers View(const device::Mirror<uint32_t>& numbers, size_t count) {
  return {numbers.device().data, static_cast<int64_t>(count)};
}

}  // namespace

DeviceRowCache::DeviceRowCache(const kernels::Compute& compute, size_t capacity, uint64_t max_age,
                               size_t dimension)
    : compute_(compute),
      slots_(capacity, max_age),
      dimension_(dimension),
      rows_(*compute.device, slots_.slot_count() * dimension,
            "the cache of rows (compression.row_cache)"),
      order_(*compute.device) {
  CHECK_LT(slots_.slot_count(), size_t{Arrivals::kNowhere});
}

bool DeviceRowCache::Hold(uint32_t table, uint64_t id, uint64_t step, std::vector<size_t>* held) {
  return slots_.Find(table, id, step, [&](size_t slot) {
    slots_.Hold(slot);
    held->push_back(slot);
  });
}

void DeviceRowCache::Release(std::span<const size_t> held) {
  for (const size_t slot : held) slots_.Release(slot);
}

std::unique_ptr<DeviceRowCache::Arrivals> DeviceRowCache::Take(device::Stream& stream) {
  const MutexLock lock(mutex_);
  const auto found =
      std::ranges::find(spare_, &stream, [](const auto& spare) { return spare->stream_; });
  if (found == spare_.end()) {
    auto arrivals = std::make_unique<Arrivals>();
    arrivals->stream_ = &stream;
    return arrivals;
  }
  std::unique_ptr<Arrivals> arrivals = std::move(*found);
  spare_.erase(found);
  return arrivals;
}

std::unique_ptr<DeviceRowCache::Arrivals> DeviceRowCache::Begin(device::Stream& stream,
                                                                size_t row_count) {
  std::unique_ptr<Arrivals> arrivals = Take(stream);
  device::Device& device = *compute_.device;
  GrowMirror(device, row_count * dimension_, &arrivals->rows_);
  for (auto* const numbers : {&arrivals->positions_, &arrivals->slots_, &arrivals->held_positions_,
                              &arrivals->held_slots_}) {
    GrowMirror(device, row_count, numbers);
  }
  arrivals->added_ = arrivals->held_ = 0;
  arrivals->kept_.clear();
  return arrivals;
}

void DeviceRowCache::Arrivals::Add(uint32_t table, uint64_t id, uint64_t step, size_t position,
                                   std::span<const float> row, bool is_kept) {
  std::ranges::copy(row, rows_.host().subspan(added_ * row.size()).begin());
  positions_.host()[added_] = static_cast<uint32_t>(position);
  slots_.host()[added_] = kNowhere;
  if (is_kept) kept_.push_back({table, id, step, added_});
  ++added_;
}

void DeviceRowCache::Arrivals::AddHeld(size_t slot, size_t position) {
  held_slots_.host()[held_] = static_cast<uint32_t>(slot);
  held_positions_.host()[held_++] = static_cast<uint32_t>(position);
}

// Each is held until all are there, so that none is given to two.
void DeviceRowCache::FindSlots(const Arrivals& arrivals) {
  std::vector<size_t> put;
  for (const Arrivals::Kept& row : arrivals.kept_) {
    slots_.Put(row.table, row.id, row.step, [&](size_t slot) {
      slots_.Hold(slot);
      put.push_back(slot);
      arrivals.slots_.host()[row.number] = static_cast<uint32_t>(slot);
    });
  }
  Release(put);
}

void DeviceRowCache::Place(std::unique_ptr<Arrivals> arrivals, device::Pointer<float> rows) {
  const Arrivals& from = *arrivals;
  device::Stream& stream = *from.stream_;
  const auto width = static_cast<int64_t>(dimension_);
  from.rows_.Upload(stream, from.added_ * dimension_);
  from.positions_.Upload(stream, from.added_);
  from.held_positions_.Upload(stream, from.held_);
  from.held_slots_.Upload(stream, from.held_);
  compute_.update->write_rows(stream, from.rows_.device().data, View(from.positions_, from.added_),
                              width, rows);
  // Whoever finds a slot from here on reads it after this has written it, and who takes one that
  // was held here writes it after this has read it.
  order_.After(stream, [&] {
    FindSlots(from);
    from.slots_.Upload(stream, from.added_);
    compute_.update->copy_rows(stream, rows_.data(), View(from.held_slots_, from.held_), width,
                               View(from.held_positions_, from.held_), rows);
    compute_.update->write_rows(stream, from.rows_.device().data, View(from.slots_, from.added_),
                                width, rows_.data());
  });
  const MutexLock lock(mutex_);
  spare_.push_back(std::move(arrivals));
}

}  // namespace weir::worker
