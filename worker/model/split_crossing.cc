#include "worker/model/split_crossing.h"

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

SplitCrossing::SplitCrossing(const ModelLayout& layout, uint32_t index, uint64_t seed,
                             const kernels::Compute& compute)
    : policy_(split::MakeSplitPolicy(layout.pipeline().split(static_cast<int>(index)), seed,
                                     HostKernelsFor(layout.model()))),
      whole_(split::MakeWholePolicy()),
      is_of_sample_alone_(split::IsOfSampleAlone(layout.pipeline().split(static_cast<int>(index)))),
      index_(index),
      end_(compute) {}

Bytes* SplitCrossing::NextWritten() {
  if (written_ == frames_.size()) frames_.emplace_back();
  frames_[written_].clear();
  return &frames_[written_++];
}

Result<wire::FrameView> SplitCrossing::NextRead() { return OnlyFrame(frames_[read_++]); }

Status SplitCrossing::Cross(device::Stream& stream, const Slice& slice, split::SplitPolicy& policy,
                            Stage* from, Stage* to) {
  sender_.resize(FrameCount(slice));
  receiver_.resize(FrameCount(slice));
  forward_ = {};
  written_ = read_ = 0;
  WEIR_RETURN_IF_ERROR(end_.SendForward(
      stream, Named(sender_, policy), slice, from->output(slice), [this] { return NextWritten(); },
      &forward_));
  return end_.TakeForward(
      stream, Named(receiver_, policy), slice, [this] { return NextRead(); }, to->input(slice));
}

Status SplitCrossing::Forward(device::Stream& stream, const Slice& slice, Stage* from, Stage* to) {
  return Cross(stream, slice, *policy_, from, to);
}

Status SplitCrossing::ForwardWhole(device::Stream& stream, const Slice& slice, Stage* from,
                                   Stage* to) {
  return Cross(stream, slice, *whole_, from, to);
}

Status SplitCrossing::Backward(device::Stream& stream, const Slice& slice, Stage* from, Stage* to) {
  counts_.Add(forward_);
  written_ = read_ = 0;
  WEIR_RETURN_IF_ERROR(end_.SendBackward(
      stream, Named(receiver_, *policy_), slice, from->input_gradient(slice),
      [this] { return NextWritten(); }, &counts_));
  return end_.TakeBackward(
      stream, Named(sender_, *policy_), slice, [this] { return NextRead(); },
      to->output_gradient(slice));
}

SplitCounts SplitCrossing::TakeCounts() { return std::exchange(counts_, {}); }

}  // namespace weir::model
