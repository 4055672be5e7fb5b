#include "worker/model/split_end.h"

#include "common/split/device_split.h"

namespace weir::model {

using kernels::ConstMatrixView;
using kernels::DeviceMatrix;
using kernels::MatrixView;

SplitEnd::SplitEnd(const kernels::Compute& compute)
    : given_(*compute.device), taken_(*compute.device) {
  if (compute.split != nullptr) on_device_.emplace(compute);
}

split::DeviceSplit* SplitEnd::Selected(const SplitCross& crossing) const {
  return on_device_ ? crossing.policy.on_device() : nullptr;
}

Status SplitEnd::SendForward(device::Stream& stream, const SplitCross& crossing, const Slice& slice,
                             const DeviceMatrix& block, FrameOut out, SplitCounts* counts) {
  if (split::DeviceSplit* const policy = Selected(crossing)) {
    return on_device_->SendForward(stream, crossing, *policy, slice, block, out, counts);
  }
  WEIR_ASSIGN_OR_RETURN(const ConstMatrixView given, given_.Read(stream, block));
  return ForEachPart(crossing, slice, [&](const FramePart& part, split::BlockMemory* memory) {
    Bytes* const frame = out();
    const uint64_t bytes = BytesOf(*frame, [&] {
      crossing.policy.SendForward(part.name, SamplesOf(given, part), memory, frame);
    });
    CountForward(crossing.policy, given.row_count * part.samples, bytes, counts);
    return OkStatus();
  });
}

Status SplitEnd::TakeForward(device::Stream& stream, const SplitCross& crossing, const Slice& slice,
                             FrameIn in, const DeviceMatrix& block) {
  if (split::DeviceSplit* const policy = Selected(crossing)) {
    return on_device_->TakeForward(stream, crossing, *policy, slice, in, block);
  }
  const MatrixView taken = taken_.Room(block);
  WEIR_RETURN_IF_ERROR(ForEachPart(
      crossing, slice, [&](const FramePart& part, split::BlockMemory* memory) -> Status {
        WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, in());
        return crossing.policy.TakeForward(part.name, frame, SamplesOf(taken, part), memory);
      }));
  return taken_.Write(stream, block);
}

Status SplitEnd::SendBackward(device::Stream& stream, const SplitCross& crossing,
                              const Slice& slice, const DeviceMatrix& block, FrameOut out,
                              SplitCounts* counts) {
  if (split::DeviceSplit* const policy = Selected(crossing)) {
    return on_device_->SendBackward(stream, crossing, *policy, slice, block, out, counts);
  }
  WEIR_ASSIGN_OR_RETURN(const ConstMatrixView given, given_.Read(stream, block));
  return ForEachPart(crossing, slice, [&](const FramePart& part, split::BlockMemory* memory) {
    Bytes* const frame = out();
    counts->backward_bytes += BytesOf(*frame, [&] {
      crossing.policy.SendBackward(part.name, SamplesOf(given, part), *memory, frame);
    });
    return OkStatus();
  });
}

Status SplitEnd::TakeBackward(device::Stream& stream, const SplitCross& crossing,
                              const Slice& slice, FrameIn in, const DeviceMatrix& block) {
  if (split::DeviceSplit* const policy = Selected(crossing)) {
    return on_device_->TakeBackward(stream, crossing, *policy, slice, in, block);
  }
  const MatrixView taken = taken_.Room(block);
  WEIR_RETURN_IF_ERROR(ForEachPart(
      crossing, slice, [&](const FramePart& part, split::BlockMemory* memory) -> Status {
        WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, in());
        return crossing.policy.TakeBackward(part.name, frame, *memory, SamplesOf(taken, part));
      }));
  return taken_.Write(stream, block);
}

}  // namespace weir::model
