#include <algorithm>
#include <cmath>
#include <vector>

#include "common/split/split_policies.h"

namespace weir::split {
namespace {

using wire::FrameKind;

constexpr uint32_t kBucketLog2 = 9;
constexpr size_t kBucket = size_t{1} << kBucketLog2;

// The largest number of a bucket is the highest level; what rounds to level 0 is not sent. A block
// with a number that is none goes as it is.
class Quantize : public SplitPolicy {
 public:
  explicit Quantize(const v1::QuantizePolicy& config)
      : bits_(static_cast<uint32_t>(config.bits())) {}

  void SendForward(const BlockName& name, const kernels::ConstMatrixView& x, BlockMemory*,
                   Bytes* out) override {
    Append(FrameKind::kActivations, name, x, out);
    sent_count_ = positions_.size();
  }
  Status TakeForward(const BlockName& name, const wire::FrameView& frame,
                     const kernels::MatrixView& x, BlockMemory*) override {
    return frames_.TakeSome(frame, FrameKind::kActivations, name, x);
  }
  void SendBackward(const BlockName& name, const kernels::ConstMatrixView& gradient,
                    const BlockMemory&, Bytes* out) override {
    Append(FrameKind::kActivationGradients, name, gradient, out);
  }
  Status TakeBackward(const BlockName& name, const wire::FrameView& frame, const BlockMemory&,
                      const kernels::MatrixView& gradient) override {
    return frames_.TakeSome(frame, FrameKind::kActivationGradients, name, gradient);
  }

 private:
  void Append(FrameKind kind, const BlockName& name, const kernels::ConstMatrixView& block,
              Bytes* out) {
    Flatten(block);
    positions_.clear();
    levels_.clear();
    scales_.clear();
    // So that a run that has diverged is seen to have.
    if (!std::ranges::all_of(flat_, [](float value) { return std::isfinite(value); })) {
      return frames_.AppendAll(kind, name, block, wire::ValueCoding::kF32, out);
    }
    for (size_t begin = 0; begin < flat_.size(); begin += kBucket) QuantizeBucket(begin);
    wire::ValueFormat format(wire::ValueCoding::kLevels);
    format.bits = bits_;
    format.bucket_log2 = kBucketLog2;
    format.scales = scales_;
    frames_.AppendSome(kind, name, static_cast<int64_t>(flat_.size()), positions_, levels_, format,
                       out);
  }

  void Flatten(const kernels::ConstMatrixView& block) {
    flat_.resize(static_cast<size_t>(block.row_count * block.column_count));
    for (int64_t f = 0; f < block.row_count; ++f) {
      std::copy_n(block.row(f), block.column_count, flat_.data() + f * block.column_count);
    }
  }

  void QuantizeBucket(size_t begin) {
    const size_t end = std::min(flat_.size(), begin + kBucket);
    float most = 0;
    for (size_t i = begin; i < end; ++i) most = std::max(most, std::abs(flat_[i]));
    const float scale = most / static_cast<float>(1u << (bits_ - 1));
    scales_.push_back(std::isnormal(scale) ? scale : 0.0f);
    if (!std::isnormal(scale)) return;
    for (size_t i = begin; i < end; ++i) {
      const float level = std::nearbyint(flat_[i] / scale);
      if (level == 0) continue;
      positions_.push_back(static_cast<uint32_t>(i));
      levels_.push_back(level * scale);
    }
  }

  const uint32_t bits_;
  std::vector<float> flat_, levels_, scales_;
  std::vector<uint32_t> positions_;
  BlockFrames frames_;
};

}  // namespace

std::unique_ptr<SplitPolicy> MakeQuantize(const v1::QuantizePolicy& config) {
  return std::make_unique<Quantize>(config);
}

}  // namespace weir::split
