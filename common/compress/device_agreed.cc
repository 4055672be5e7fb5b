#include "common/compress/device_agreed.h"

#include "common/wire/value_coding.h"

namespace weir::compress {

void DeviceAgreed::Place(std::span<const std::vector<uint32_t>> agreed) {
  size_t count = 0;
  for (const auto& layer : agreed) count += layer.size();
  if (places_.size() < count) {
    device::Device& device = *residuals_.compute().device;
    const size_t room = count + count / 5;  // so that it seldom grows
    places_ = {device, room, "what is sent"};
    values_ = {device, room, "what is sent"};
  }
  ends_.clear();
  size_t next = 0;
  for (size_t layer = 0; layer < agreed.size(); ++layer) {
    const auto offset = static_cast<uint32_t>(residuals_.layers()[layer].offset);
    for (const uint32_t index : agreed[layer]) places_.host()[next++] = offset + index;
    ends_.push_back(next);
  }
}

Status DeviceAgreed::Take(device::Stream& stream, std::span<const std::vector<uint32_t>> agreed) {
  Place(agreed);
  const size_t count = ends_.back();
  const bool rounds = residuals_.layers()[0].scope->values == wire::ValueCoding::kBf16;
  const MutexLock lock(residuals_.mutex());
  places_.Upload(stream, count);
  residuals_.compute().select->take_values(stream, places_.device().data,
                                           static_cast<int64_t>(count), rounds, residuals_.data(),
                                           values_.device().data);
  values_.Download(stream, count);
  return stream.Synchronize();
}

Status DeviceAgreed::ReadState(size_t layer, std::vector<float>* residual) const {
  const device::Span<float> on_device = residuals_.PartOf(layer);
  residual->resize(on_device.size);
  return residuals_.Read(on_device, *residual);
}

Status DeviceAgreed::WriteState(size_t layer, std::span<const float> residual) const {
  if (residual.empty()) return OkStatus();
  return residuals_.Write(residual, residuals_.PartOf(layer));
}

}  // namespace weir::compress
