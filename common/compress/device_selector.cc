#include "common/compress/device_selector.h"

#include <algorithm>
#include <utility>

#include "common/device/repeat_key.h"

namespace weir::compress {
DeviceSelector::DeviceSelector(const kernels::Compute& compute, std::vector<Layer> layers,
                               int64_t flat_element_count)
    : compute_(compute),
      residuals_(compute, std::move(layers), flat_element_count),
      layers_(residuals_.layers()),
      thresholds_(compute, layers_) {
  const auto flat_count = static_cast<size_t>(flat_element_count);
  device::Device& device = *compute.device;
  const auto keeps_squares = [](const Layer& layer) {
    return layer.selectable().keeps_square_sums();
  };
  if (std::ranges::any_of(layers_, keeps_squares)) square_sums_ = {device, flat_count, "squares"};
  size_t element_count = 0;
  for (const Layer& layer : layers_) {
    element_count += static_cast<size_t>(layer.scope->element_count);
  }
  offsets_ = {device, element_count, "selection"};
  values_ = {device, element_count, "selection"};
  read_ = device.MakeEvent();
  planner_.emplace(compute_, layers_, residuals_.stripes());
}

kernels::SelectFrom DeviceSelector::From(device::Pointer<const float> gradients) const {
  return {.gradient = gradients,
          .residual = residuals_.data(),
          .square_sums = square_sums_.data(),
          .scales = planner_->scales(),
          .thresholds = thresholds_.on_device()};
}

device::Span<float> DeviceSelector::SquareSumsOf(size_t layer) const {
  if (!layers_[layer].selectable().keeps_square_sums()) return {};
  return residuals_.PartOf(square_sums_, layer);
}

Status DeviceSelector::Select(device::Stream& stream, device::Pointer<const float> gradients,
                              DeviceSelection* selection) {
  const MutexLock lock(residuals_.mutex());
  selection->MakeRoom(*compute_.device, static_cast<size_t>(residuals_.stripes().count));
  thresholds_.UploadSet(stream);
  WEIR_RETURN_IF_ERROR(planner_->Plan(stream, From(gradients), &selection->plans));
  EnqueueSelection(stream, From(gradients), *selection);
  WEIR_RETURN_IF_ERROR(selection->DownloadCounts(stream));
  WEIR_RETURN_IF_ERROR(residuals_.CheckWatched());
  thresholds_.Tell();
  selection->is_dense = WhichAreDense();
  CountDiscarded(*selection);
  return selection->StartDownload(offsets_.span(), values_.span(), read_.get());
}

void DeviceSelector::EnqueueSelection(device::Stream& stream, const kernels::SelectFrom& from,
                                      const DeviceSelection& selection) {
  const kernels::StripesView stripes = residuals_.stripes();
  const uint64_t key = device::RepeatKey(
      device::Repeated::kSelection, stripes.stripes, stripes.count, planner_->Key(),
      thresholds_.Key(), residuals_.WatchKey(), from.gradient, from.residual, from.square_sums,
      selection.ends.device(), selection.discarded.device(), offsets_.span(), values_.span());
  stream.Wait(*read_);  // those of the step before
  stream.Repeat("selection", key, [&] {
    planner_->Upload(stream);
    residuals_.Watch(stream, from.gradient);
    compute_.select->accumulate_and_select(stream, stripes, planner_->on_device(), from,
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
        selection.discarded.host().subspan(first_stripe(i), layers_[i].scope->stripe_count());
    for (const double mass : of_layer)
      layers_[i].selectable().CountDiscarded(*layers_[i].state, mass);
  }
}

Status DeviceSelector::EndStep(const DeviceSelection& selection) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    if (!layer.selectable().DrainsAfter(*layer.state, selection.plans[i])) continue;
    const MutexLock lock(residuals_.mutex());
    const device::Span<float> on_device = residuals_.PartOf(i);
    std::vector<float> residual(on_device.size);
    WEIR_RETURN_IF_ERROR(residuals_.Read(on_device, residual));
    layer.selectable().Drain(*layer.state, residual);
    WEIR_RETURN_IF_ERROR(residuals_.Write(residual, on_device));
  }
  return OkStatus();
}

Status DeviceSelector::ReadState(size_t layer, std::vector<float>* residual) {
  const Layer& of = layers_[layer];
  if (of.policy->keeps_residual()) {
    const device::Span<float> on_device = residuals_.PartOf(layer);
    residual->resize(on_device.size);
    WEIR_RETURN_IF_ERROR(residuals_.Read(on_device, *residual));
  }
  if (!of.selectable().keeps_square_sums()) return OkStatus();
  return residuals_.Read(SquareSumsOf(layer), of.selectable().RoomForSquareSums(*of.state));
}

Status DeviceSelector::WriteState(size_t layer, std::span<const float> residual) {
  const Layer& of = layers_[layer];
  thresholds_.Set(layer);
  if (!residual.empty()) WEIR_RETURN_IF_ERROR(residuals_.Write(residual, residuals_.PartOf(layer)));
  if (!of.selectable().keeps_square_sums()) return OkStatus();
  return residuals_.Write(of.selectable().RoomForSquareSums(*of.state), SquareSumsOf(layer));
}

}  // namespace weir::compress
