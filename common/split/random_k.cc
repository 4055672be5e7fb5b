#include "common/base/random.h"
#include "common/compress/kept_count.h"
#include "common/split/largest_per_sample.h"
#include "common/split/split_policies.h"
#include "common/tensor/aligned_buffer.h"

namespace weir::split {
namespace {

using wire::FrameKind;

// A random number for each element, and of each sample the elements with the largest: both ends
// draw the same, so no positions travel.
class RandomK : public SplitPolicy {
 public:
  RandomK(const v1::RandomKSplitPolicy& config, wire::ValueCoding values, uint64_t seed)
      : sparsity_(config.sparsity()), values_(values), seed_(seed) {}

  void SendForward(const BlockName& name, const kernels::ConstMatrixView& x, BlockMemory* memory,
                   Bytes* out) override {
    Draw(name, x.row_count, x.column_count, memory);
    sent_count_ = memory->kept.size();
    frames_.AppendAt(FrameKind::kActivations, name, memory->kept, x, values_, out);
  }
  Status TakeForward(const BlockName& name, const wire::FrameView& frame,
                     const kernels::MatrixView& x, BlockMemory* memory) override {
    Draw(name, x.row_count, x.column_count, memory);
    WEIR_RETURN_IF_ERROR(frames_.TakeAt(frame, FrameKind::kActivations, name, memory->kept, x));
    Enlarge(*memory, x);
    return OkStatus();
  }
  void SendBackward(const BlockName& name, const kernels::ConstMatrixView& gradient,
                    const BlockMemory& memory, Bytes* out) override {
    frames_.AppendAt(FrameKind::kActivationGradients, name, memory.kept, gradient, values_, out);
  }
  Status TakeBackward(const BlockName& name, const wire::FrameView& frame,
                      const BlockMemory& memory, const kernels::MatrixView& gradient) override {
    WEIR_RETURN_IF_ERROR(
        frames_.TakeAt(frame, FrameKind::kActivationGradients, name, memory.kept, gradient));
    Enlarge(memory, gradient);
    return OkStatus();
  }

 private:
  void Draw(const BlockName& name, int64_t features, int64_t samples, BlockMemory* memory) {
    const int64_t stride = kernels::PaddedStride(samples);
    if (numbers_.size() < static_cast<size_t>(features * stride)) {
      numbers_ = tensor::AlignedBuffer(static_cast<size_t>(features * stride));
    }
    RandomStream random(seed_, name.batch, name.split, name.slice);
    for (int64_t f = 0; f < features; ++f) {
      for (int64_t s = 0; s < samples; ++s) {
        numbers_[static_cast<size_t>(f * stride + s)] = static_cast<float>(random.NextUnit());
      }
    }
    ChooseLargest({numbers_.data(), features, samples, stride},
                  compress::KeptCount(features, sparsity_), &chosen_);
    memory->kept.assign(chosen_.positions().begin(), chosen_.positions().end());
  }

  void Enlarge(const BlockMemory& memory, const kernels::MatrixView& block) const {
    const int64_t kept = compress::KeptCount(block.row_count, sparsity_);
    const auto factor = static_cast<float>(block.row_count) / static_cast<float>(kept);
    ForEachPosition(memory.kept, block.column_count, block.stride,
                    [&](size_t, int64_t index) { block.data[index] *= factor; });
  }

  const double sparsity_;
  const wire::ValueCoding values_;
  const uint64_t seed_;
  tensor::AlignedBuffer numbers_;
  Chosen chosen_;
  BlockFrames frames_;
};

}  // namespace

std::unique_ptr<SplitPolicy> MakeRandomK(const v1::RandomKSplitPolicy& config,
                                         wire::ValueCoding values, uint64_t seed) {
  return std::make_unique<RandomK>(config, values, seed);
}

}  // namespace weir::split
