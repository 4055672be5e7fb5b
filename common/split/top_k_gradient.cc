#include <algorithm>
#include <map>
#include <span>

#include "common/compress/kept_count.h"
#include "common/split/largest_of_block.h"
#include "common/split/largest_per_sample.h"
#include "common/split/split_policies.h"
#include "common/split/whole.h"
#include "common/tensor/aligned_buffer.h"

namespace weir::split {
namespace {

using wire::FrameKind;

// What is not sent back is kept by its place in the batch, as the paper's errors must be, since no
// sample comes twice: the error of one is added to another's gradient.
class TopKGradient : public Whole {
 public:
  TopKGradient(const v1::TopKGradientPolicy& config, wire::ValueCoding values)
      : Whole(values),
        sparsity_(config.sparsity()),
        feedback_(config.feedback()),
        whole_batch_(config.whole_batch()) {}

  void SendBackward(const BlockName& name, const kernels::ConstMatrixView& gradient,
                    const BlockMemory&, Bytes* out) override {
    const kernels::MatrixView sum = Sum(name, gradient);
    if (whole_batch_) {
      // One frame is the batch (validate_pipeline.cc).
      const int64_t count = sum.row_count * sum.column_count;
      ChooseLargestOfBlock(sum, compress::KeptCount(count, sparsity_), &of_block_);
      return Send(name, sum, of_block_.positions, of_block_.values, out);
    }
    ChooseLargest(sum, compress::KeptCount(sum.row_count, sparsity_), &chosen_);
    Send(name, sum, chosen_.positions(), chosen_.values(), out);
  }
  Status TakeBackward(const BlockName& name, const wire::FrameView& frame, const BlockMemory&,
                      const kernels::MatrixView& gradient) override {
    return frames_.TakeSome(frame, FrameKind::kActivationGradients, name, gradient);
  }

 private:
  struct Errors {
    int64_t samples = 0;
    tensor::AlignedBuffer values;
  };

  // What is not sent of sum stays in it.
  void Send(const BlockName& name, const kernels::MatrixView& sum,
            std::span<const uint32_t> positions, std::span<const float> values, Bytes* out) {
    frames_.AppendSome(FrameKind::kActivationGradients, name, sum.row_count * sum.column_count,
                       positions, values, values_, out);
    ForEachPosition(positions, sum.column_count, sum.stride,
                    [&](size_t i, int64_t at) { sum.data[at] -= wire::Round(values[i], values_); });
  }

  // The gradient, and with feedback what of the last one of this place was not sent. A slice of
  // another length, a short batch's last, begins with none.
  kernels::MatrixView Sum(const BlockName& name, const kernels::ConstMatrixView& gradient) {
    Errors& errors = errors_[{name.split, name.slice}];
    const int64_t stride = kernels::PaddedStride(gradient.column_count);
    if (!feedback_) std::ranges::fill(errors.values.span(), 0.0f);
    if (errors.samples != gradient.column_count) {
      errors.samples = gradient.column_count;
      errors.values = tensor::AlignedBuffer(static_cast<size_t>(gradient.row_count * stride));
    }
    const kernels::MatrixView sum{errors.values.data(), gradient.row_count, gradient.column_count,
                                  stride};
    for (int64_t f = 0; f < sum.row_count; ++f) {
      for (int64_t s = 0; s < sum.column_count; ++s) sum.row(f)[s] += gradient.row(f)[s];
    }
    return sum;
  }

  const double sparsity_;
  const bool feedback_, whole_batch_;
  std::map<std::pair<uint32_t, uint32_t>, Errors> errors_;  // by split and slice
  Chosen chosen_;
  LargestOfBlock of_block_;
};

}  // namespace

std::unique_ptr<SplitPolicy> MakeTopKGradient(const v1::TopKGradientPolicy& config,
                                              wire::ValueCoding values) {
  return std::make_unique<TopKGradient>(config, values);
}

}  // namespace weir::split
