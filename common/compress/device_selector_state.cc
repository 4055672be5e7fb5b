// What a device keeps of layers between steps, as it is saved and taken over.

#include "common/base/check.h"
#include "common/compress/device_selector.h"

namespace weir::compress {

Status DeviceSelector::ReadState(size_t layer, std::vector<float>* residual) {
  const Layer& of = layers_[layer];
  if (of.policy->keeps_residual()) {
    const device::Span<float> on_device = PartOf(residual_, layer);
    residual->resize(on_device.size);
    WEIR_RETURN_IF_ERROR(Read(on_device, *residual));
  }
  if (!of.selectable().keeps_square_sums()) return OkStatus();
  return Read(SquareSumsOf(layer), of.selectable().RoomForSquareSums(*of.state));
}

Status DeviceSelector::WriteState(size_t layer, std::span<const float> residual) {
  const Layer& of = layers_[layer];
  thresholds_.Set(layer);
  if (!residual.empty()) WEIR_RETURN_IF_ERROR(Write(residual, PartOf(residual_, layer)));
  if (!of.selectable().keeps_square_sums()) return OkStatus();
  return Write(of.selectable().RoomForSquareSums(*of.state), SquareSumsOf(layer));
}

Status DeviceSelector::Read(device::Span<const float> from, std::span<float> to) const {
  const auto stream = compute_.device->MakeStream();
  CHECK_EQ(from.size, to.size());
  stream->CopyToHost<float>(from, to);
  return stream->Synchronize();
}

Status DeviceSelector::Write(std::span<const float> from, device::Span<float> to) const {
  const auto stream = compute_.device->MakeStream();
  CHECK_EQ(from.size(), to.size);
  stream->CopyToDevice<float>(from, to);
  return stream->Synchronize();
}

}  // namespace weir::compress
