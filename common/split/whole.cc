#include "common/split/split_policies.h"

namespace weir::split {
namespace {

using wire::FrameKind;

class Whole : public SplitPolicy {
 public:
  explicit Whole(wire::ValueCoding values) : values_(values) {}

  void SendForward(const BlockName& name, const kernels::ConstMatrixView& x, BlockMemory*,
                   Bytes* out) override {
    frames_.AppendAll(FrameKind::kActivations, name, x, values_, out);
    sent_count_ = static_cast<uint64_t>(x.row_count * x.column_count);
  }
  Status TakeForward(const BlockName& name, const wire::FrameView& frame,
                     const kernels::MatrixView& x, BlockMemory*) override {
    return frames_.TakeAll(frame, FrameKind::kActivations, name, x);
  }
  void SendBackward(const BlockName& name, const kernels::ConstMatrixView& gradient,
                    const BlockMemory&, Bytes* out) override {
    frames_.AppendAll(FrameKind::kActivationGradients, name, gradient, values_, out);
  }
  Status TakeBackward(const BlockName& name, const wire::FrameView& frame, const BlockMemory&,
                      const kernels::MatrixView& gradient) override {
    return frames_.TakeAll(frame, FrameKind::kActivationGradients, name, gradient);
  }

 private:
  const wire::ValueCoding values_;
  BlockFrames frames_;
};

}  // namespace

std::unique_ptr<SplitPolicy> MakeWhole(wire::ValueCoding values) {
  return std::make_unique<Whole>(values);
}

}  // namespace weir::split
