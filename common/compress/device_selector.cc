#include "common/compress/device_selector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/base/check.h"
#include "common/compress/not_finite.h"
#include "common/device/repeat_key.h"

namespace weir::compress {
DeviceSelector::DeviceSelector(const kernels::Compute& compute, std::vector<Layer> layers,
                               int64_t flat_element_count)
    : compute_(compute),
      layers_(std::move(layers)),
      thresholds_(compute, layers_),
      watched_(compute) {
  CHECK(compute.select != nullptr);
  CHECK_LE(flat_element_count, std::numeric_limits<uint32_t>::max());
  const auto flat_count = static_cast<size_t>(flat_element_count);
  device::Device& device = *compute.device;
  residual_ = {device, flat_count, "residuals"};
  const auto keeps_squares = [](const Layer& layer) {
    return layer.selectable().keeps_square_sums();
  };
  if (std::ranges::any_of(layers_, keeps_squares)) square_sums_ = {device, flat_count, "squares"};
  PlaceLayers();
  size_t element_count = 0;
  for (const Layer& layer : layers_) {
    element_count += static_cast<size_t>(layer.scope->element_count);
  }
  offsets_ = {device, element_count, "selection"};
  values_ = {device, element_count, "selection"};
  read_ = device.MakeEvent();
  planner_.emplace(compute_, layers_, stripes());
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

kernels::SelectFrom DeviceSelector::From(device::Pointer<const float> gradients) const {
  return {.gradient = gradients,
          .residual = residual_.data(),
          .square_sums = square_sums_.data(),
          .scales = planner_->scales(),
          .thresholds = thresholds_.on_device()};
}

device::Span<float> DeviceSelector::PartOf(const device::Buffer<float>& flat, size_t layer) const {
  return flat.span().subspan(static_cast<size_t>(layers_[layer].offset),
                             static_cast<size_t>(layers_[layer].scope->element_count));
}

device::Span<float> DeviceSelector::SquareSumsOf(size_t layer) const {
  if (!layers_[layer].selectable().keeps_square_sums()) return {};
  return PartOf(square_sums_, layer);
}

Status DeviceSelector::Select(device::Stream& stream, device::Pointer<const float> gradients,
                              DeviceSelection* selection) {
  const MutexLock lock(mutex_);
  selection->MakeRoom(*compute_.device, places_.size());
  thresholds_.UploadSet(stream);
  WEIR_RETURN_IF_ERROR(planner_->Plan(stream, From(gradients), &selection->plans));
  EnqueueSelection(stream, From(gradients), *selection);
  WEIR_RETURN_IF_ERROR(selection->DownloadCounts(stream));
  WEIR_RETURN_IF_ERROR(CheckWatched());
  thresholds_.Tell();
  selection->is_dense = WhichAreDense();
  CountDiscarded(*selection);
  return selection->StartDownload(offsets_.span(), values_.span(), read_.get());
}

void DeviceSelector::EnqueueSelection(device::Stream& stream, const kernels::SelectFrom& from,
                                      const DeviceSelection& selection) {
  const uint64_t key = device::RepeatKey(
      device::Repeated::kSelection, stripes().stripes, stripes().count, planner_->Key(),
      thresholds_.Key(), watched_.Key(), from.gradient, from.residual, from.square_sums,
      selection.ends.device(), selection.discarded.device(), offsets_.span(), values_.span());
  stream.Wait(*read_);  // those of the step before
  stream.Repeat("selection", key, [&] {
    planner_->Upload(stream);
    watched_.Gather(stream, from.gradient, residual_.data());
    watched_.Download(stream);
    compute_.select->accumulate_and_select(stream, stripes(), planner_->on_device(), from,
                                           {selection.ends.device().data, offsets_.data(),
                                            values_.data(), selection.discarded.device().data});
    thresholds_.Correct(stream, planner_->on_device(), selection.ends.device().data);
  });
}

std::vector<bool> DeviceSelector::WhichAreDense() const {
  std::vector<bool> is_dense;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const kernels::Taking taking = planner_->taken(i).taking;
    is_dense.push_back(taking == kernels::Taking::kAll || taking == kernels::Taking::kMeans);
  }
  return is_dense;
}

void DeviceSelector::CountDiscarded(const DeviceSelection& selection) const {
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (!layers_[i].selectable().keeps_square_sums()) continue;
    const auto of_layer =
        selection.discarded.host().subspan(first_stripes_[i], layers_[i].scope->stripe_count());
    for (const double mass : of_layer)
      layers_[i].selectable().CountDiscarded(*layers_[i].state, mass);
  }
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
  const MutexLock lock(mutex_);
  watched_.Gather(stream, gradients, residual_.data());
  watched_.Download(stream);
  compute_.select->accumulate(stream, stripes(), gradients, residual_.data());
  WEIR_RETURN_IF_ERROR(stream.Synchronize());
  return CheckWatched();
}

Status DeviceSelector::EndStep(const DeviceSelection& selection) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    if (!layer.selectable().DrainsAfter(*layer.state, selection.plans[i])) continue;
    const MutexLock lock(mutex_);
    const device::Span<float> on_device = PartOf(residual_, i);
    std::vector<float> residual(on_device.size);
    WEIR_RETURN_IF_ERROR(Read(on_device, residual));
    layer.selectable().Drain(*layer.state, residual);
    WEIR_RETURN_IF_ERROR(Write(residual, on_device));
  }
  return OkStatus();
}

}  // namespace weir::compress
