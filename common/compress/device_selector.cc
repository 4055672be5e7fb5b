#include "common/compress/device_selector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/base/check.h"
#include "common/compress/not_finite.h"

namespace weir::compress {
namespace {

// A fifth more than is needed, so that it seldom grows.
size_t WithRoom(size_t count) { return count + count / 5; }

}  // namespace

DeviceSelector::DeviceSelector(const kernels::Compute& compute, std::vector<Layer> layers,
                               int64_t flat_element_count)
    : compute_(compute),
      layers_(std::move(layers)),
      residual_(*compute.device, static_cast<size_t>(flat_element_count), "residuals"),
      watched_(compute) {
  CHECK(compute.select != nullptr);
  CHECK_LE(flat_element_count, std::numeric_limits<uint32_t>::max());
  PlaceLayers();
  size_t element_count = 0;
  for (const Layer& layer : layers_) {
    element_count += static_cast<size_t>(layer.scope->element_count);
  }
  device::Device& device = *compute.device;
  plans_ = {device, layers_.size(), "selection"};
  offsets_ = {device, element_count, "selection"};
  values_ = {device, element_count, "selection"};
  planner_.emplace(compute_, layers_, stripes(), residual_.span());
}

// What never changes: where stripes are, and what must be finite.
void DeviceSelector::PlaceLayers() {
  std::vector<kernels::StripePlace> places;
  std::vector<uint32_t> watched;
  for (uint32_t number = 0; number < layers_.size(); ++number) {
    const Layer& layer = layers_[number];
    first_stripes_.push_back(static_cast<uint32_t>(places.size()));
    for (uint32_t stripe = 0; stripe < layer.scope->stripe_count(); ++stripe) {
      places.push_back({layer.offset + stripe * kStripeElements,
                        static_cast<uint32_t>(layer.scope->stripe_elements(stripe)), number,
                        static_cast<uint32_t>(stripe * kStripeElements)});
    }
    for (int64_t i = 0; layer.must_be_finite && i < layer.scope->element_count; ++i) {
      watched.push_back(static_cast<uint32_t>(layer.offset + i));
    }
  }
  places_ = {*compute_.device, places.size(), "selection"};
  std::ranges::copy(places, places_.host().begin());
  const auto stream = compute_.device->MakeStream();
  places_.Upload(*stream, places_.size());
  watched_.SetPlaces(*stream, watched);
  const Status uploaded = stream->Synchronize();
  LOG_IF(ERROR, !uploaded.ok()) << uploaded;  // the first step fails by it, too
}

kernels::StripesView DeviceSelector::stripes() const {
  return {places_.device().data, static_cast<int64_t>(places_.size())};
}

device::Span<float> DeviceSelector::ResidualOf(size_t layer) const {
  return residual_.span().subspan(static_cast<size_t>(layers_[layer].offset),
                                  static_cast<size_t>(layers_[layer].scope->element_count));
}

Status DeviceSelector::Select(device::Stream& stream, device::Pointer<const float> gradients,
                              DeviceSelection* selection) {
  const std::lock_guard lock(mutex_);
  if (selection->ends.size() < places_.size()) {
    selection->ends = {*compute_.device, places_.size(), "selection"};
  }
  WEIR_RETURN_IF_ERROR(planner_->Plan(stream, gradients, &selection->plans, plans_.host()));
  watched_.Gather(stream, gradients, residual_.data());
  plans_.Upload(stream, plans_.size());
  compute_.select->accumulate_and_select(
      stream, stripes(), plans_.device().data, gradients, residual_.data(),
      {selection->ends.device().data, offsets_.data(), values_.data()});
  selection->ends.Download(stream, places_.size());
  WEIR_RETURN_IF_ERROR(stream.Synchronize());
  WEIR_RETURN_IF_ERROR(CheckWatched());
  return Download(stream, selection);
}

Status DeviceSelector::Download(device::Stream& stream, DeviceSelection* selection) {
  const size_t count = places_.size() == 0 ? 0 : selection->ends.host()[places_.size() - 1];
  CHECK_LE(count, values_.size());
  if (selection->values.size() < count) {
    selection->offsets = {*compute_.device, WithRoom(count), "what is sent"};
    selection->values = {*compute_.device, WithRoom(count), "what is sent"};
  }
  if (count == 0) return OkStatus();
  stream.CopyToHost<uint16_t>(offsets_.span().first(count), selection->offsets.span().first(count));
  stream.CopyToHost<float>(values_.span().first(count), selection->values.span().first(count));
  return stream.Synchronize();
}

Status DeviceSelector::CheckWatched() const {
  size_t begin = 0;
  for (const Layer& layer : layers_) {
    if (!layer.must_be_finite) continue;
    const auto count = static_cast<size_t>(layer.scope->element_count);
    const auto values = watched_.host().subspan(begin, count);
    begin += count;
    if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) continue;
    return NotFinite(layer.name);
  }
  return OkStatus();
}

Status DeviceSelector::Accumulate(device::Stream& stream, device::Pointer<const float> gradients) {
  const std::lock_guard lock(mutex_);
  watched_.Gather(stream, gradients, residual_.data());
  compute_.select->accumulate(stream, stripes(), gradients, residual_.data());
  WEIR_RETURN_IF_ERROR(stream.Synchronize());
  return CheckWatched();
}

Status DeviceSelector::EndStep(const DeviceSelection& selection) {
  std::vector<float> residual;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    if (!layer.policy->DrainsAfter(*layer.state, selection.plans[i])) continue;
    const std::lock_guard lock(mutex_);
    WEIR_RETURN_IF_ERROR(ReadResidual(i, &residual));
    layer.policy->Drain(*layer.state, residual);
    WEIR_RETURN_IF_ERROR(WriteResidual(i, residual));
  }
  return OkStatus();
}

Status DeviceSelector::ReadResidual(size_t layer, std::vector<float>* values) {
  const auto stream = compute_.device->MakeStream();
  values->resize(ResidualOf(layer).size);
  stream->CopyToHost<float>(ResidualOf(layer), *values);
  return stream->Synchronize();
}

Status DeviceSelector::WriteResidual(size_t layer, std::span<const float> values) {
  const auto stream = compute_.device->MakeStream();
  CHECK_EQ(values.size(), ResidualOf(layer).size);
  stream->CopyToDevice<float>(values, ResidualOf(layer));
  return stream->Synchronize();
}

}  // namespace weir::compress
