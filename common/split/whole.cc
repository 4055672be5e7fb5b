#include "common/split/whole.h"

#include "common/split/split_policies.h"

namespace weir::split {

using wire::FrameKind;

void Whole::SendForward(const BlockName& name, const kernels::ConstMatrixView& x, BlockMemory*,
                        Bytes* out) {
  frames_.AppendAll(FrameKind::kActivations, name, x, values_, out);
  sent_count_ = static_cast<uint64_t>(x.row_count * x.column_count);
}

Status Whole::TakeForward(const BlockName& name, const wire::FrameView& frame,
                          const kernels::MatrixView& x, BlockMemory*) {
  return frames_.TakeAll(frame, FrameKind::kActivations, name, x);
}

void Whole::SendBackward(const BlockName& name, const kernels::ConstMatrixView& gradient,
                         const BlockMemory&, Bytes* out) {
  frames_.AppendAll(FrameKind::kActivationGradients, name, gradient, values_, out);
}

Status Whole::TakeBackward(const BlockName& name, const wire::FrameView& frame, const BlockMemory&,
                           const kernels::MatrixView& gradient) {
  return frames_.TakeAll(frame, FrameKind::kActivationGradients, name, gradient);
}

std::unique_ptr<SplitPolicy> MakeWhole(wire::ValueCoding values) {
  return std::make_unique<Whole>(values);
}

}  // namespace weir::split
