#include "common/compress/device_selection.h"

#include <algorithm>

namespace weir::compress {

void DeviceSelection::MakeRoom(device::Device& device, size_t stripe_count) {
  if (device_ != &device) {
    device_ = &device;
    selected_ = device.MakeEvent();
    copies_ = device.MakeStream();
  }
  if (ends.size() == stripe_count) return;
  ends = {device, stripe_count, "selection"};
  discarded = {device, stripe_count, "selection"};
}

Status DeviceSelection::DownloadCounts(device::Stream& stream) {
  stream.Record(selected_.get());
  copies_->Wait(*selected_);
  ends.Download(*copies_, ends.size());
  discarded.Download(*copies_, discarded.size());
  WEIR_RETURN_IF_ERROR(copies_->Synchronize());
  // It has done all by now; it tells whether that failed.
  return stream.Synchronize();
}

Status DeviceSelection::StartDownload(device::Span<const uint16_t> offsets,
                                      device::Span<const float> values, device::Event* read) {
  const size_t count = ends.size() == 0 ? 0 : ends.host().back();
  if (count > values.size || !std::ranges::is_sorted(ends.host())) {
    return Internal("what a card selected makes no sense: its stripes do not follow each other");
  }
  if (values_.size() < count) {
    // A fifth more than is needed, so that it seldom grows.
    const size_t room = std::min(count + count / 5, values.size);
    offsets_ = {*device_, room, "what is sent"};
    values_ = {*device_, room, "what is sent"};
  }
  copies_->CopyToHost<uint16_t>(offsets.first(count), offsets_.span().first(count));
  copies_->CopyToHost<float>(values.first(count), values_.span().first(count));
  copies_->Record(read);
  return OkStatus();
}

}  // namespace weir::compress
