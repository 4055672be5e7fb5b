#include "common/compress/device_selection.h"

#include <algorithm>

#include "common/base/check.h"

namespace weir::compress {
namespace {

// A fifth more than is needed, so that it seldom grows.
size_t WithRoom(size_t count) { return count + count / 5; }

template <typename T>
void CopyRange(device::Stream& stream, device::Span<const T> from, size_t begin, size_t end,
               const device::PinnedBuffer<T>& to) {
  stream.CopyToHost<T>(from.subspan(begin, end - begin), to.span().subspan(begin, end - begin));
}

}  // namespace

void DeviceSelection::MakeRoom(device::Device& device, size_t stripe_count) {
  if (ends.size() == stripe_count) return;
  ends = {device, stripe_count, "selection"};
  discarded = {device, stripe_count, "selection"};
}

Status DeviceSelection::Download(device::Device& device, device::Stream& stream,
                                 device::Span<const uint16_t> offsets,
                                 device::Span<const float> values) {
  ends.Download(stream, ends.size());
  discarded.Download(stream, discarded.size());
  size_t begin = std::min(values_.size(), WithRoom(last_count_));
  CopyRange(stream, offsets, 0, begin, offsets_);
  CopyRange(stream, values, 0, begin, values_);
  WEIR_RETURN_IF_ERROR(stream.Synchronize());
  const size_t count = ends.size() == 0 ? 0 : ends.host().back();
  if (count > values.size || !std::ranges::is_sorted(ends.host())) {
    return Internal("what a card selected makes no sense: its stripes do not follow each other");
  }
  last_count_ = count;
  if (count <= begin) return OkStatus();
  if (values_.size() < count) {
    const size_t room = std::min(WithRoom(count), values.size);
    offsets_ = {device, room, "what is sent"};
    values_ = {device, room, "what is sent"};
    begin = 0;
  }
  CopyRange(stream, offsets, begin, count, offsets_);
  CopyRange(stream, values, begin, count, values_);
  return stream.Synchronize();
}

}  // namespace weir::compress
