#include "worker/embedded/loaded_rows.h"

#include "common/device/buffers.h"

namespace weir::worker {
namespace {

template <typename T>
device::Buffer<T> Uploaded(device::Device& device, device::Stream& stream,
                           const std::vector<T>& from) {
  device::Buffer<T> to(device, from.size(), "loading a model");
  stream.CopyToDevice<T>(from, to.span());
  return to;
}

}  // namespace

void LoadedRows::Add(uint32_t number, std::span<const float> values, std::span<const float> state) {
  is_loaded_.resize(row_count_);
  is_loaded_[number] = true;
  numbers_.push_back(number);
  values_.insert(values_.end(), values.begin(), values.end());
  state_.insert(state_.end(), state.begin(), state.end());
}

Status LoadedRows::Write(const kernels::StoredRows& stored) {
  if (numbers_.empty()) return OkStatus();
  device::Device& device = *compute_.device;
  const auto stream = device.MakeStream();
  const auto numbers = Uploaded(device, *stream, numbers_);
  const auto values = Uploaded(device, *stream, values_);
  const auto state = Uploaded(device, *stream, state_);
  const kernels::RowNumbers view{numbers.data(), static_cast<int64_t>(numbers.size())};
  const auto write = [&](const device::Buffer<float>& from, int64_t width,
                         device::Pointer<float> to) {
    compute_.update->write_rows(*stream, from.data(), view, width, to);
  };
  write(values, stored.dimension, stored.values);
  write(state, stored.state_width, stored.state);
  WEIR_RETURN_IF_ERROR(stream->Synchronize());
  numbers_.clear();
  values_.clear();
  state_.clear();
  return OkStatus();
}

}  // namespace weir::worker
