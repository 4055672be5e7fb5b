#include "worker/model/split_crossing.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/wire/frame.h"
#include "worker/model/kernels_for.h"

namespace weir::model {
namespace {

// Our own frame, just written.
wire::FrameView OnlyFrame(ByteSpan bytes) {
  auto frame = wire::FrameCursor(bytes).Next();
  CHECK(frame.ok()) << frame.status();
  return *frame;
}

}  // namespace

void SplitCounts::Add(const SplitCounts& other) {
  elements += other.elements;
  elements_sent += other.elements_sent;
  forward_bytes += other.forward_bytes;
  backward_bytes += other.backward_bytes;
  if (other.threshold) threshold = other.threshold;
}

void SplitCounts::FillReport(const v1::SplitConfig& split, v1::SplitReport* report) const {
  report->set_after(split.after());
  report->set_policy(split::SplitPolicyName(split));
  report->set_elements(elements);
  report->set_elements_sent(elements_sent);
  report->set_forward_bytes(forward_bytes);
  report->set_backward_bytes(backward_bytes);
  if (threshold) report->set_threshold(*threshold);
}

SplitCrossing::SplitCrossing(const ModelLayout& layout, uint32_t index, uint64_t seed,
                             const kernels::Compute& compute)
    : policy_(split::MakeSplitPolicy(layout.pipeline().split(static_cast<int>(index)), seed,
                                     HostKernelsFor(layout.model()))),
      is_of_sample_alone_(split::IsOfSampleAlone(layout.pipeline().split(static_cast<int>(index)))),
      given_(*compute.device),
      taken_(*compute.device) {
  name_.split = index;
}

split::BlockName SplitCrossing::Name(const Slice& slice) {
  name_.slice = slice.number;
  return name_;
}

Status SplitCrossing::Forward(device::Stream& stream, const Slice& slice, Stage* from, Stage* to) {
  WEIR_ASSIGN_OR_RETURN(const kernels::ConstMatrixView given,
                        given_.Read(stream, from->output(slice)));
  frame_.clear();
  policy_->SendForward(Name(slice), given, &sender_, &frame_);
  forward_bytes_ = frame_.size();
  const kernels::DeviceMatrix input = to->input(slice);
  const Status taken =
      policy_->TakeForward(name_, OnlyFrame(frame_), taken_.Room(input), &receiver_);
  CHECK(taken.ok()) << taken;
  return taken_.Write(stream, input);
}

Status SplitCrossing::ForwardWhole(device::Stream& stream, const Slice& slice, Stage* from,
                                   Stage* to) {
  WEIR_ASSIGN_OR_RETURN(const kernels::ConstMatrixView given,
                        given_.Read(stream, from->output(slice)));
  const kernels::DeviceMatrix input = to->input(slice);
  const kernels::MatrixView taken = taken_.Room(input);
  for (int64_t f = 0; f < given.row_count; ++f) {
    std::copy_n(given.row(f), given.column_count, taken.row(f));
  }
  return taken_.Write(stream, input);
}

Status SplitCrossing::Backward(device::Stream& stream, const Slice& slice, Stage* from, Stage* to) {
  WEIR_ASSIGN_OR_RETURN(const kernels::ConstMatrixView given,
                        given_.Read(stream, from->input_gradient(slice)));
  frame_.clear();
  policy_->SendBackward(Name(slice), given, receiver_, &frame_);
  counts_.forward_bytes += forward_bytes_;
  counts_.backward_bytes += frame_.size();
  counts_.elements += static_cast<uint64_t>(given.row_count * given.column_count);
  counts_.elements_sent += policy_->sent_count();
  counts_.threshold = policy_->threshold();
  const kernels::DeviceMatrix gradient = to->output_gradient(slice);
  const Status taken =
      policy_->TakeBackward(name_, OnlyFrame(frame_), sender_, taken_.Room(gradient));
  CHECK(taken.ok()) << taken;
  return taken_.Write(stream, gradient);
}

SplitCounts SplitCrossing::TakeCounts() { return std::exchange(counts_, {}); }

}  // namespace weir::model
