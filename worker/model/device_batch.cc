#include "worker/model/device_batch.h"

#include <cstring>
#include <span>

#include "common/device/cpu_device.h"
#include "common/device/repeat_key.h"

namespace weir::model {
namespace {

constexpr size_t kAlignmentBytes = 64;

template <typename T>
size_t PaddedBytes(const std::vector<T>& values) {
  return (values.size() * sizeof(T) + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

size_t ByteCount(const data::Batch& batch) {
  size_t sum = PaddedBytes(batch.labels) + PaddedBytes(batch.dense);
  for (const data::TableIds& ids : batch.tables) {
    sum += PaddedBytes(ids.positions) + PaddedBytes(ids.ends) + PaddedBytes(ids.weights);
  }
  return sum + batch.tables.size() * sizeof(kernels::TableView) + kAlignmentBytes;
}

}  // namespace

// Fills the host's side of a copy, and says where its parts will be.
class DeviceBatch::Writer {
 public:
  explicit Writer(device::Mirror<uint8_t>& copy) : copy_(copy) {}

  // Null for nothing.
  template <typename T>
  device::Pointer<const T> Put(const std::vector<T>& values) {
    if (values.empty()) return nullptr;
    std::memcpy(copy_.host().data() + used_, values.data(), values.size() * sizeof(T));
    const auto* const at =
        reinterpret_cast<const T*>(copy_.device().data.address() + used_);  // 64-byte aligned
    used_ += PaddedBytes(values);
    return device::Pointer<const T>(at);
  }
  // In the place of what was put there.
  template <typename T>
  void PutAt(device::Pointer<const T> at, const std::vector<T>& values) {
    if (values.empty()) return;
    const auto* const begin = copy_.device().data.address();
    const auto* const place = reinterpret_cast<const uint8_t*>(at.address());
    std::memcpy(copy_.host().data() + (place - begin), values.data(), values.size() * sizeof(T));
  }
  size_t used() const { return used_; }

 private:
  device::Mirror<uint8_t>& copy_;
  size_t used_ = 0;
};

void DeviceBatch::Set(const data::Batch& batch, device::Stream& stream) {
  host_ = &batch;
  if (device_->is_host()) {
    Lend(batch);
  } else {
    Copy(batch, stream);
  }
}

void DeviceBatch::Lend(const data::Batch& batch) {
  const auto lend = [](const auto& values) {
    return device::OnCpu(values.empty() ? nullptr : values.data());
  };
  labels_ = lend(batch.labels);
  dense_ = lend(batch.dense);
  tables_.clear();
  int64_t first_row = 0;
  for (const data::TableIds& ids : batch.tables) {
    tables_.push_back({lend(ids.positions), lend(ids.ends), lend(ids.weights), first_row,
                       std::ssize(ids.unique)});
    first_row += std::ssize(ids.unique);
  }
  table_views_ = lend(tables_);
}

void DeviceBatch::Copy(const data::Batch& batch, device::Stream& stream) {
  const size_t byte_count = ByteCount(batch);
  if (copy_.size() < byte_count) {
    copy_ = device::Mirror<uint8_t>(*device_, byte_count * 5 / 4, "a batch");
  }
  // What has one size for so many rows comes first, so that it is at the same place.
  Writer writer(copy_);
  labels_ = writer.Put(batch.labels);
  dense_ = writer.Put(batch.dense);
  tables_.resize(batch.tables.size());
  table_views_ = writer.Put(tables_);
  tables_.clear();
  int64_t first_row = 0;
  for (const data::TableIds& ids : batch.tables) {
    tables_.push_back({writer.Put(ids.positions), writer.Put(ids.ends), writer.Put(ids.weights),
                       first_row, std::ssize(ids.unique)});
    first_row += std::ssize(ids.unique);
  }
  writer.PutAt(table_views_, tables_);
  copy_.Upload(stream, writer.used());
}

uint64_t DeviceBatch::LayoutKey() const {
  return device::RepeatKey(device::Repeated::kSlice, labels_, dense_, table_views_,
                           host_->tables.size());
}

kernels::ConstDeviceMatrix DeviceBatch::Dense(const Slice& slice, int64_t feature_count) const {
  return kernels::Dense(dense_ + slice.begin * feature_count, slice.row_count, feature_count);
}

kernels::ConstDeviceVector DeviceBatch::Labels(const Slice& slice) const {
  return {labels_ + slice.begin, slice.row_count};
}

kernels::TablesView DeviceBatch::Tables(const Slice& slice) const {
  return {table_views_, std::ssize(host_->tables), slice.begin};
}

}  // namespace weir::model
