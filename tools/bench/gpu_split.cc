// Selection per sample of what crosses a split (DCT-MP), on a card, beside one read and one write
// of its block.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/compress/kept_count.h"
#include "common/device/buffers.h"
#include "common/split/largest_per_sample.h"
#include "tools/bench/card.h"
#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

constexpr int64_t kSamples = 16'384, kFeatures = 1'024, kPart = 128;
constexpr int64_t kQuickSamples = 200, kQuickFeatures = 40;
constexpr double kSparsity = 0.95;
constexpr double kTwiceAsLong = 0.5;

// A block of activations, half of which a ReLU has cut.
class CardBlock {
 public:
  CardBlock(const Card& card, int64_t features, int64_t samples)
      : compute_(card.compute),
        features_(features),
        samples_(samples),
        values_(static_cast<size_t>(features * samples)),
        stream_(card.device->MakeStream()),
        block_(*card.device, values_.size(), "a bench"),
        ends_(*card.device, static_cast<size_t>((samples + kPart - 1) / kPart), "a bench"),
        positions_(*card.device, values_.size(), "a bench"),
        chosen_(*card.device, values_.size(), "a bench"),
        thresholds_(*card.device, static_cast<size_t>(samples), "a bench") {
    RandomStream random(1);
    for (float& value : values_) {
      value = std::max(0.0f, static_cast<float>(random.NextNormal()));
    }
    stream_->CopyToDevice<float>(values_, block_.span());
    (void)stream_->Synchronize();  // what failed stays the stream's
  }

  device::Stream& stream() const { return *stream_; }

  void Choose() const {
    compute_.split->choose_largest(
        *stream_, kernels::Dense(block_.data(), features_, samples_), keep(), kPart,
        {ends_.device().data, positions_.device().data, chosen_.device().data, thresholds_.data()});
  }

  // What was chosen is what the CPU chooses, part after part.
  Status Check() const {
    Choose();
    ends_.Download(*stream_, ends_.size());
    positions_.Download(*stream_, positions_.size());
    chosen_.Download(*stream_, chosen_.size());
    WEIR_RETURN_IF_ERROR(stream_->Synchronize());
    split::Chosen expected;
    for (size_t part = 0; part < ends_.size(); ++part) {
      const auto begin = static_cast<int64_t>(part) * kPart;
      const int64_t samples = std::min(kPart, samples_ - begin);
      split::ChooseLargest(PartOf(begin, samples), keep(), &expected);
      const size_t first = part == 0 ? 0 : ends_.host()[part - 1];
      const size_t count = ends_.host()[part] - first;
      if (!std::ranges::equal(positions_.host().subspan(first, count), expected.positions()) ||
          !std::ranges::equal(chosen_.host().subspan(first, count), expected.values())) {
        return Internal("other activations are chosen on the card than on the CPU");
      }
    }
    return OkStatus();
  }

 private:
  int64_t keep() const { return compress::KeptCount(features_, kSparsity); }

  // Rows of whole vectors, as the CPU reads them.
  kernels::ConstMatrixView PartOf(int64_t begin, int64_t samples) const {
    const int64_t stride = kernels::PaddedStride(samples);
    part_.assign(static_cast<size_t>(features_ * stride), 0.0f);
    for (int64_t f = 0; f < features_; ++f) {
      std::copy_n(values_.begin() + f * samples_ + begin, samples, part_.begin() + f * stride);
    }
    return {part_.data(), features_, samples, stride};
  }

  const kernels::Compute compute_;
  const int64_t features_, samples_;
  std::vector<float> values_;
  mutable std::vector<float> part_;
  const std::unique_ptr<device::Stream> stream_;
  const device::Buffer<float> block_;
  const device::Mirror<uint32_t> ends_, positions_;
  const device::Mirror<float> chosen_;
  const device::Buffer<float> thresholds_;
};

}  // namespace

Result<Lines> BenchGpuSplit(const Options& options) {
  const int64_t features = options.quick ? kQuickFeatures : kFeatures;
  const int64_t samples = options.quick ? kQuickSamples : kSamples;
  WEIR_ASSIGN_OR_RETURN(const Card card, OpenCardOf(options, kernels::Precision::kF32, samples));
  WEIR_ASSIGN_OR_RETURN(const double bandwidth, CopyBandwidth(card, options));
  const CardBlock block(card, features, samples);
  WEIR_RETURN_IF_ERROR(block.Check());
  WEIR_ASSIGN_OR_RETURN(const double seconds,
                        CardSeconds(block.stream(), options, [&] { block.Choose(); }));
  const double bytes = 2.0 * sizeof(float) * static_cast<double>(features * samples);
  return Lines{{.name = "gpu/split/dct_mp",
                .value = seconds * 1e6,
                .unit = "us",
                .peer = "one read and one write at the speed of a copy",
                .peer_value = bytes / bandwidth * 1e6,
                .goal = kTwiceAsLong,
                .better = Better::kLess}};
}

}  // namespace weir::bench
