#include "worker/model/device_split_end.h"

namespace weir::model {

using kernels::DeviceMatrix;

namespace {

template <typename T>
void Grow(device::Device& device, size_t count, device::Mirror<T>* mirror) {
  if (mirror->size() < count) *mirror = {device, count + count / 5, "a split"};
}

}  // namespace

Status DeviceSplitEnd::SendForward(device::Stream& stream, const SplitCross& crossing,
                                   split::DeviceSplit& policy, const Slice& slice,
                                   const DeviceMatrix& block, FrameOut out, SplitCounts* counts) {
  WEIR_RETURN_IF_ERROR(Choose(stream, policy.KeptOf(block.row_count), slice, block));
  return ForEachPart(crossing, slice, [&](const FramePart& part, split::BlockMemory* memory) {
    const size_t begin = part.number == 0 ? 0 : ends_.host()[part.number - 1];
    const size_t count = ends_.host()[part.number] - begin;
    const int64_t elements = block.row_count * part.samples;
    Bytes* const frame = out();
    const uint64_t bytes = BytesOf(*frame, [&] {
      policy.SendChosen(part.name, elements, positions_.host().subspan(begin, count),
                        values_.host().subspan(begin, count),
                        thresholds_.host().subspan(static_cast<size_t>(part.begin),
                                                   static_cast<size_t>(part.samples)),
                        memory, frame);
    });
    CountForward(crossing.policy, elements, bytes, counts);
    return OkStatus();
  });
}

// As many as are to be kept come with the word how many there are; of equal magnitudes there are
// more.
Status DeviceSplitEnd::Choose(device::Stream& stream, int64_t keep, const Slice& slice,
                              const DeviceMatrix& block) {
  device::Device& device = *compute_.device;
  const auto elements = static_cast<size_t>(block.row_count * block.column_count);
  Grow(device, FrameCount(slice), &ends_);
  Grow(device, static_cast<size_t>(block.column_count), &thresholds_);
  Grow(device, elements, &positions_);
  Grow(device, elements, &values_);
  compute_.split->choose_largest(stream, block, keep, kSplitRows,
                                 {ends_.device().data, positions_.device().data,
                                  values_.device().data, thresholds_.device().data});
  const auto expected = static_cast<size_t>(keep * block.column_count);
  ends_.Download(stream, FrameCount(slice));
  thresholds_.Download(stream, static_cast<size_t>(block.column_count));
  positions_.Download(stream, expected);
  values_.Download(stream, expected);
  WEIR_RETURN_IF_ERROR(stream.Synchronize());
  const size_t count = ends_.host()[FrameCount(slice) - 1];
  if (count <= expected) return OkStatus();
  positions_.Download(stream, count);
  values_.Download(stream, count);
  return stream.Synchronize();
}

Status DeviceSplitEnd::SendBackward(device::Stream& stream, const SplitCross& crossing,
                                    split::DeviceSplit& policy, const Slice& slice,
                                    const DeviceMatrix& block, FrameOut out, SplitCounts* counts) {
  const size_t count = UploadKept(stream, crossing, slice, block);
  compute_.split->gather_values(stream, block.data, indexes_.device().data,
                                {values_.device().data, static_cast<int64_t>(count)});
  values_.Download(stream, count);
  WEIR_RETURN_IF_ERROR(stream.Synchronize());
  size_t begin = 0;
  return ForEachPart(crossing, slice, [&](const FramePart& part, split::BlockMemory* memory) {
    Bytes* const frame = out();
    counts->backward_bytes += BytesOf(*frame, [&] {
      policy.SendKept(part.name, values_.host().subspan(begin, memory->kept.size()), frame);
    });
    begin += memory->kept.size();
    return OkStatus();
  });
}

size_t DeviceSplitEnd::UploadKept(device::Stream& stream, const SplitCross& crossing,
                                  const Slice& slice, const DeviceMatrix& block) {
  size_t count = 0, next = 0;
  for (const split::BlockMemory& memory : crossing.memory) count += memory.kept.size();
  Grow(*compute_.device, count, &indexes_);
  Grow(*compute_.device, count, &values_);
  for (size_t i = 0; i < FrameCount(slice); ++i) {
    const FramePart part = PartOf(crossing, slice, i);
    split::ForEachPosition(crossing.memory[i].kept, part.samples, block.stride,
                           [&](size_t, int64_t at) {
                             indexes_.host()[next++] = static_cast<uint32_t>(part.begin + at);
                           });
  }
  indexes_.Upload(stream, count);
  return count;
}

template <typename Take>
Status DeviceSplitEnd::Put(device::Stream& stream, const SplitCross& crossing, const Slice& slice,
                           const DeviceMatrix& block, const Take& take) {
  const auto elements = static_cast<size_t>(block.row_count * block.column_count);
  Grow(*compute_.device, elements, &indexes_);
  Grow(*compute_.device, elements, &values_);
  size_t count = 0;
  WEIR_RETURN_IF_ERROR(ForEachPart(
      crossing, slice, [&](const FramePart& part, split::BlockMemory* memory) -> Status {
        WEIR_ASSIGN_OR_RETURN(const std::span<const float> values, take(part, memory));
        split::ForEachPosition(memory->kept, part.samples, block.stride, [&](size_t i, int64_t at) {
          indexes_.host()[count] = static_cast<uint32_t>(part.begin + at);
          values_.host()[count++] = values[i];
        });
        return OkStatus();
      }));
  indexes_.Upload(stream, count);
  values_.Upload(stream, count);
  const auto size = static_cast<size_t>(block.row_count * block.stride);
  stream.Zero(device::Span<float>(block.data, size));
  compute_.kernels->write_values(stream, {values_.device().data, static_cast<int64_t>(count)},
                                 indexes_.device().data, {block.data, static_cast<int64_t>(size)});
  // What is uploaded next must not come before.
  return stream.Synchronize();
}

Status DeviceSplitEnd::TakeForward(device::Stream& stream, const SplitCross& crossing,
                                   split::DeviceSplit& policy, const Slice& slice, FrameIn in,
                                   const DeviceMatrix& block) {
  const auto take = [&](const FramePart& part,
                        split::BlockMemory* memory) -> Result<std::span<const float>> {
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, in());
    return policy.TakeChosen(part.name, frame, block.row_count * part.samples, memory);
  };
  return Put(stream, crossing, slice, block, take);
}

Status DeviceSplitEnd::TakeBackward(device::Stream& stream, const SplitCross& crossing,
                                    split::DeviceSplit& policy, const Slice& slice, FrameIn in,
                                    const DeviceMatrix& block) {
  const auto take = [&](const FramePart& part,
                        split::BlockMemory* memory) -> Result<std::span<const float>> {
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, in());
    return policy.TakeKept(part.name, frame, *memory);
  };
  return Put(stream, crossing, slice, block, take);
}

}  // namespace weir::model
