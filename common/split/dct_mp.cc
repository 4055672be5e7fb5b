#include <algorithm>
#include <numeric>

#include "common/compress/kept_count.h"
#include "common/split/device_split.h"
#include "common/split/largest_per_sample.h"
#include "common/split/split_policies.h"

namespace weir::split {
namespace {

using wire::FrameKind;

class DctMp : public SplitPolicy, public DeviceSplit {
 public:
  DctMp(const v1::DctMpPolicy& config, wire::ValueCoding values)
      : sparsity_(config.sparsity()),
        one_based_rank_(config.one_based_rank()),
        measure_only_(config.measure_only()),
        values_(values) {}

  void SendForward(const BlockName& name, const kernels::ConstMatrixView& x, BlockMemory* memory,
                   Bytes* out) override {
    ChooseLargest(x, KeptOf(x.row_count), &chosen_);
    const int64_t element_count = x.row_count * x.column_count;
    if (!measure_only_) {
      return SendChosen(name, element_count, chosen_.positions(), chosen_.values(),
                        chosen_.thresholds(), memory, out);
    }
    threshold_ = MeanOf(chosen_.thresholds());
    sent_count_ = static_cast<uint64_t>(element_count);
    frames_.AppendAll(FrameKind::kActivations, name, x, values_, out);
  }

  Status TakeForward(const BlockName& name, const wire::FrameView& frame,
                     const kernels::MatrixView& x, BlockMemory* memory) override {
    if (measure_only_) return frames_.TakeAll(frame, FrameKind::kActivations, name, x);
    WEIR_RETURN_IF_ERROR(frames_.TakeSome(frame, FrameKind::kActivations, name, x));
    memory->kept.assign(frames_.positions().begin(), frames_.positions().end());
    return OkStatus();
  }

  // On the mask that both ends have, so without positions.
  void SendBackward(const BlockName& name, const kernels::ConstMatrixView& gradient,
                    const BlockMemory& memory, Bytes* out) override {
    constexpr auto kKind = FrameKind::kActivationGradients;
    if (measure_only_) return frames_.AppendAll(kKind, name, gradient, values_, out);
    frames_.AppendAt(kKind, name, memory.kept, gradient, values_, out);
  }
  Status TakeBackward(const BlockName& name, const wire::FrameView& frame,
                      const BlockMemory& memory, const kernels::MatrixView& gradient) override {
    constexpr auto kKind = FrameKind::kActivationGradients;
    if (measure_only_) return frames_.TakeAll(frame, kKind, name, gradient);
    return frames_.TakeAt(frame, kKind, name, memory.kept, gradient);
  }

  DeviceSplit* on_device() override { return measure_only_ ? nullptr : this; }
  int64_t KeptOf(int64_t features) const override {
    const int64_t kept = compress::KeptCount(features, sparsity_);
    return one_based_rank_ ? std::min(features, kept + 1) : kept;
  }
  void SendChosen(const BlockName& name, int64_t element_count, std::span<const uint32_t> positions,
                  std::span<const float> values, std::span<const float> thresholds,
                  BlockMemory* memory, Bytes* out) override {
    threshold_ = MeanOf(thresholds);
    sent_count_ = positions.size();
    memory->kept.assign(positions.begin(), positions.end());
    frames_.AppendSome(FrameKind::kActivations, name, element_count, memory->kept, values, values_,
                       out);
  }
  Result<std::span<const float>> TakeChosen(const BlockName& name, const wire::FrameView& frame,
                                            int64_t element_count, BlockMemory* memory) override {
    WEIR_RETURN_IF_ERROR(frames_.ReadSome(frame, FrameKind::kActivations, name, element_count));
    memory->kept.assign(frames_.positions().begin(), frames_.positions().end());
    return frames_.values();
  }
  void SendKept(const BlockName& name, std::span<const float> values, Bytes* out) override {
    frames_.AppendValues(FrameKind::kActivationGradients, name, values, values_, out);
  }
  Result<std::span<const float>> TakeKept(const BlockName& name, const wire::FrameView& frame,
                                          const BlockMemory& memory) override {
    WEIR_RETURN_IF_ERROR(
        frames_.ReadAt(frame, FrameKind::kActivationGradients, name, memory.kept.size()));
    return frames_.values();
  }

 private:
  static double MeanOf(std::span<const float> thresholds) {
    return std::accumulate(thresholds.begin(), thresholds.end(), 0.0) /
           static_cast<double>(thresholds.size());
  }

  const double sparsity_;
  const bool one_based_rank_, measure_only_;
  const wire::ValueCoding values_;
  Chosen chosen_;
  BlockFrames frames_;
};

}  // namespace

std::unique_ptr<SplitPolicy> MakeDctMp(const v1::DctMpPolicy& config, wire::ValueCoding values) {
  return std::make_unique<DctMp>(config, values);
}

}  // namespace weir::split
