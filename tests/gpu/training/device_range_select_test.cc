// What is found of ranges on a card is what the host finds in the same residuals, to the bit.
#include "common/compress/device_range_select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "common/compress/host_range_select.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/common/compress/drawn_ranges.h"
#include "tests/gpu/card.h"

namespace weir::compress {
namespace {

// The same residuals of layers on the host and on a card.
class RangesOnBoth {
 public:
  RangesOnBoth(const std::vector<int64_t>& sizes, const std::vector<float>& values) {
    std::vector<DeviceLayer> layers;
    std::vector<Residual*> on_host;
    scopes_.reserve(sizes.size());
    int64_t offset = kBefore;
    for (const int64_t size : sizes) {
      scopes_.push_back({.element_count = size});
      layers.push_back({.name = "a layer", .scope = &scopes_.back(), .offset = offset});
      owned_.push_back(std::make_unique<Residual>(size));
      on_host.push_back(owned_.back().get());
      owned_.back()->ForEachStripe([&](int64_t first, std::span<float> stripe) {
        std::ranges::copy(
            std::span(values).subspan(static_cast<size_t>(offset + first - kBefore), stripe.size()),
            stripe.begin());
      });
      offset += size;
    }
    host_ = std::make_unique<HostRangeSelect>(std::move(on_host));
    residuals_ = std::make_unique<DeviceResiduals>(compute_, std::move(layers), offset);
    card_ = std::make_unique<DeviceRangeSelect>(residuals_.get());
    std::vector<float> flat(static_cast<size_t>(kBefore), 1e30f);
    flat.insert(flat.end(), values.begin(), values.end());
    CHECK(residuals_->Write(flat, {residuals_->data(), flat.size()}).ok());
    card_->Begin(stream_.get());
  }

  void ExpectSameNorms(std::span<const LayerRange> ranges) {
    const std::vector<double> expected = host_->Norms(ranges), norms = card_->Norms(ranges);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(norms[i] == expected[i] || (std::isnan(norms[i]) && std::isnan(expected[i])))
          << norms[i] << " of range " << i << " for " << expected[i];
    }
  }
  void ExpectSameReaching(std::span<const LayerRange> ranges, float threshold) {
    LayerIndexes expected(scopes_.size()), found(scopes_.size());
    EXPECT_EQ(card_->Reaching(ranges, threshold, &found),
              host_->Reaching(ranges, threshold, &expected));
    EXPECT_EQ(found, expected) << threshold;
  }
  // Of each ask so many of its ranges.
  void ExpectSameLargest(const std::vector<LargestAsk>& asks) {
    std::vector<LargestAsk> of_host = asks, of_card = asks, of_thresholds = asks;
    LayerIndexes expected(scopes_.size()), found(scopes_.size());
    host_->Largest(of_host, &expected);
    card_->Largest(of_card, &found);
    card_->Largest(of_thresholds, nullptr);
    EXPECT_EQ(found, expected);
    for (size_t i = 0; i < asks.size(); ++i) {
      EXPECT_EQ(of_card[i].threshold, of_host[i].threshold) << i;
      EXPECT_EQ(of_thresholds[i].threshold, of_host[i].threshold) << i;
    }
  }
  Status status() const { return card_->status(); }

 private:
  static constexpr int64_t kBefore = 3;  // of others

  const std::unique_ptr<gpu::CudaDevice> device_ = test::OpenCard();
  const kernels::Compute compute_ = gpu::CudaCompute(*device_, kernels::Precision::kF32, 64);
  const std::unique_ptr<device::Stream> stream_ = device_->MakeStream();
  std::vector<Scope> scopes_;
  std::vector<std::unique_ptr<Residual>> owned_;
  std::unique_ptr<HostRangeSelect> host_;
  std::unique_ptr<DeviceResiduals> residuals_;
  std::unique_ptr<DeviceRangeSelect> card_;
};

class RangesOnACard : public testing::TestWithParam<DrawResidual> {
 protected:
  // Calls use(both, seed) for some residuals and orders of the card's threads.
  template <typename Use>
  void ForSome(const Use& use) {
    WEIR_SKIP_WITHOUT_A_CARD();
    for (const uint64_t seed : {2, 5}) {
      SCOPED_TRACE(seed);
      test::SetCardOrder(seed);
      RangesOnBoth both(kDrawnSizes, DrawnAs(GetParam(), seed));
      use(both, seed);
      EXPECT_TRUE(both.status().ok()) << both.status();
    }
  }
};

TEST_P(RangesOnACard, HaveTheHostsNorms) {
  ForSome([](RangesOnBoth& both, uint64_t seed) {
    std::vector<LayerRange> ranges;
    for (const auto& cut : CutAtRandom(seed)) ranges.insert(ranges.end(), cut.begin(), cut.end());
    both.ExpectSameNorms(ranges);
    both.ExpectSameNorms(WholeLayers(kDrawnSizes));
    both.ExpectSameNorms({});
  });
}

TEST_P(RangesOnACard, HaveWhatReachesAThreshold) {
  ForSome([](RangesOnBoth& both, uint64_t seed) {
    for (const float threshold : {1e-45f, 0.5f, 2.5f, 100.0f}) {
      both.ExpectSameReaching(WholeLayers(kDrawnSizes), threshold);
      for (const auto& ranges : CutAtRandom(seed)) both.ExpectSameReaching(ranges, threshold);
    }
  });
}

TEST_P(RangesOnACard, HaveTheHostsLargest) {
  ForSome([](RangesOnBoth& both, uint64_t seed) {
    const auto cut = CutAtRandom(seed);
    std::vector<LargestAsk> asks;
    for (size_t i = 0; i < cut.size(); ++i)
      asks.push_back({.ranges = cut[i], .k = i * i * i % 100});
    both.ExpectSameLargest(asks);
    const auto whole = WholeLayers(kDrawnSizes);
    for (const size_t k : {1u, 220u, 20'000u, 1u << 30}) {
      both.ExpectSameLargest({{.ranges = whole, .k = k}});
    }
    both.ExpectSameLargest({});
    both.ExpectSameLargest({{.ranges = {}, .k = 3}});
  });
}

INSTANTIATE_TEST_SUITE_P(Residuals, RangesOnACard, testing::ValuesIn(kDraws));

}  // namespace
}  // namespace weir::compress
