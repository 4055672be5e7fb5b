#include "common/compress/device_residuals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/base/check.h"
#include "common/compress/not_finite.h"

namespace weir::compress {

DeviceResiduals::DeviceResiduals(const kernels::Compute& compute, std::vector<DeviceLayer> layers,
                                 int64_t flat_element_count)
    : compute_(compute), layers_(std::move(layers)), watched_(compute) {
  CHECK(compute.select != nullptr);
  CHECK_LE(flat_element_count, std::numeric_limits<uint32_t>::max());
  residual_ = {*compute.device, static_cast<size_t>(flat_element_count), "residuals"};
  PlaceStripes();
  PlaceWatched();
}

void DeviceResiduals::PlaceStripes() {
  std::vector<kernels::StripePlace> places;
  for (uint32_t number = 0; number < layers_.size(); ++number) {
    const DeviceLayer& layer = layers_[number];
    first_stripes_.push_back(static_cast<uint32_t>(places.size()));
    for (uint32_t stripe = 0; stripe < layer.scope->stripe_count(); ++stripe) {
      places.push_back({layer.offset + stripe * kStripeElements,
                        static_cast<uint32_t>(layer.scope->stripe_elements(stripe)), number,
                        static_cast<uint32_t>(stripe * kStripeElements)});
    }
  }
  places_ = {*compute_.device, places.size(), "selection"};
  std::ranges::copy(places, places_.host().begin());
  const auto stream = compute_.device->MakeStream();
  places_.Upload(*stream, places_.size());
  const Status uploaded = stream->Synchronize();
  LOG_IF(ERROR, !uploaded.ok()) << uploaded;  // the first step fails by it, too
}

void DeviceResiduals::PlaceWatched() {
  std::vector<uint32_t> watched;
  for (const DeviceLayer& layer : layers_) {
    for (int64_t i = 0; layer.must_be_finite && i < layer.scope->element_count; ++i) {
      watched.push_back(static_cast<uint32_t>(layer.offset + i));
    }
  }
  const auto stream = compute_.device->MakeStream();
  watched_.SetPlaces(*stream, watched);
  const Status uploaded = stream->Synchronize();
  LOG_IF(ERROR, !uploaded.ok()) << uploaded;
}

kernels::StripesView DeviceResiduals::stripes() const {
  return {places_.device().data, static_cast<int64_t>(places_.size())};
}

device::Span<float> DeviceResiduals::PartOf(const device::Buffer<float>& flat, size_t layer) const {
  return flat.span().subspan(static_cast<size_t>(layers_[layer].offset),
                             static_cast<size_t>(layers_[layer].scope->element_count));
}

void DeviceResiduals::Watch(device::Stream& stream, device::Pointer<const float> gradients) const {
  watched_.Gather(stream, gradients, residual_.data());
  watched_.Download(stream);
}

Status DeviceResiduals::CheckWatched() const {
  size_t begin = 0;
  for (const DeviceLayer& layer : layers_) {
    if (!layer.must_be_finite) continue;
    const auto count = static_cast<size_t>(layer.scope->element_count);
    const auto values = watched_.host().subspan(begin, count);
    begin += count;
    if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) continue;
    return NotFinite(layer.name);
  }
  return OkStatus();
}

Status DeviceResiduals::Accumulate(device::Stream& stream, device::Pointer<const float> gradients) {
  const MutexLock lock(mutex_);
  Watch(stream, gradients);
  compute_.select->accumulate(stream, stripes(), gradients, residual_.data());
  WEIR_RETURN_IF_ERROR(stream.Synchronize());
  return CheckWatched();
}

Status DeviceResiduals::Read(device::Span<const float> from, std::span<float> to) const {
  const auto stream = compute_.device->MakeStream();
  CHECK_EQ(from.size, to.size());
  stream->CopyToHost<float>(from, to);
  return stream->Synchronize();
}

Status DeviceResiduals::Write(std::span<const float> from, device::Span<float> to) const {
  const auto stream = compute_.device->MakeStream();
  CHECK_EQ(from.size(), to.size);
  stream->CopyToDevice<float>(from, to);
  return stream->Synchronize();
}

}  // namespace weir::compress
