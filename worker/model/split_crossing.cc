#include "worker/model/split_crossing.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/wire/frame.h"

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
                             const kernels::KernelTable& kernels)
    : policy_(
          split::MakeSplitPolicy(layout.pipeline().split(static_cast<int>(index)), seed, kernels)),
      is_of_sample_alone_(
          split::IsOfSampleAlone(layout.pipeline().split(static_cast<int>(index)))) {
  name_.split = index;
}

split::BlockName SplitCrossing::Name(const Slice& slice) {
  name_.slice = slice.number;
  return name_;
}

void SplitCrossing::Forward(const Slice& slice, Stage* from, Stage* to) {
  frame_.clear();
  policy_->SendForward(Name(slice), from->output(slice), &sender_, &frame_);
  forward_bytes_ = frame_.size();
  const Status taken = policy_->TakeForward(name_, OnlyFrame(frame_), to->input(slice), &receiver_);
  CHECK(taken.ok()) << taken;
}

void SplitCrossing::ForwardWhole(const Slice& slice, Stage* from, Stage* to) {
  const kernels::ConstMatrixView given = from->output(slice);
  const kernels::MatrixView taken = to->input(slice);
  for (int64_t f = 0; f < given.row_count; ++f) {
    std::copy_n(given.row(f), given.column_count, taken.row(f));
  }
}

void SplitCrossing::Backward(const Slice& slice, Stage* from, Stage* to) {
  frame_.clear();
  policy_->SendBackward(Name(slice), from->input_gradient(slice), receiver_, &frame_);
  counts_.forward_bytes += forward_bytes_;
  counts_.backward_bytes += frame_.size();
  const kernels::MatrixView gradient = to->output_gradient(slice);
  counts_.elements += static_cast<uint64_t>(gradient.row_count * gradient.column_count);
  counts_.elements_sent += policy_->sent_count();
  counts_.threshold = policy_->threshold();
  const Status taken = policy_->TakeBackward(name_, OnlyFrame(frame_), sender_, gradient);
  CHECK(taken.ok()) << taken;
}

SplitCounts SplitCrossing::TakeCounts() { return std::exchange(counts_, {}); }

}  // namespace weir::model
