// What is found in ranges is what a plain sort finds.
#include "common/compress/host_range_select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "tests/common/compress/drawn_ranges.h"

namespace weir::compress {
namespace {

class DrawnResiduals {
 public:
  explicit DrawnResiduals(const std::vector<float>& values) : values_(values) {
    std::vector<Residual*> residuals;
    size_t begin = 0;
    for (const int64_t size : kDrawnSizes) {
      firsts_.push_back(begin);
      residuals.push_back(owned_.emplace_back(std::make_unique<Residual>(size)).get());
      residuals.back()->ForEachStripe([&](int64_t first, std::span<float> stripe) {
        std::copy_n(values.begin() + static_cast<ptrdiff_t>(begin) + first, stripe.size(),
                    stripe.begin());
      });
      begin += static_cast<size_t>(size);
    }
    select_ = std::make_unique<HostRangeSelect>(std::move(residuals));
  }

  // By magnitude from the largest, of what is a number and not zero, and then as they come.
  struct Element {
    float magnitude;
    size_t layer;
    uint32_t index;
  };
  std::vector<Element> Sorted(std::span<const LayerRange> ranges) const {
    std::vector<Element> all;
    for (const LayerRange& range : ranges) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        const float magnitude = std::fabs(values_[firsts_[range.layer] + static_cast<size_t>(i)]);
        if (magnitude > 0) all.push_back({magnitude, range.layer, static_cast<uint32_t>(i)});
      }
    }
    std::ranges::stable_sort(all, std::greater<>(), &Element::magnitude);
    return all;
  }
  RangeSelect& select() { return *select_; }

 private:
  const std::vector<float> values_;
  std::vector<size_t> firsts_;
  std::vector<std::unique_ptr<Residual>> owned_;
  std::unique_ptr<HostRangeSelect> select_;
};

LayerIndexes IndexesOf(std::span<const DrawnResiduals::Element> elements) {
  LayerIndexes indexes(kDrawnSizes.size());
  for (const auto& element : elements) indexes[element.layer].push_back(element.index);
  for (auto& layer : indexes) std::ranges::sort(layer);
  return indexes;
}

class HostRanges : public testing::TestWithParam<DrawResidual> {
 protected:
  DrawnResiduals drawn_{DrawnAs(GetParam(), 3)};
};

TEST_P(HostRanges, HaveTheLargestOfAPlainSort) {
  for (const auto& ranges : CutAtRandom(1)) {
    const auto sorted = drawn_.Sorted(ranges);
    float last = 0;
    for (const size_t k : {1u, 7u, 300u, 1u << 20}) {
      const size_t taken = std::min(k, sorted.size());
      LargestAsk ask = {.ranges = ranges, .k = k, .threshold = last};
      LayerIndexes indexes(kDrawnSizes.size());
      drawn_.select().Largest({&ask, 1}, &indexes);
      EXPECT_EQ(indexes, IndexesOf(std::span(sorted).first(taken)));
      EXPECT_EQ(ask.threshold, taken == 0 ? 0 : sorted[taken - 1].magnitude);
      last = ask.threshold;
    }
  }
}

TEST_P(HostRanges, HaveWhatReachesAThreshold) {
  for (const auto& ranges : CutAtRandom(2)) {
    const auto sorted = drawn_.Sorted(ranges);
    for (const float threshold : {1e-45f, 0.5f, 3.0f}) {
      const auto below = std::ranges::find_if(
          sorted, [&](const auto& element) { return element.magnitude < threshold; });
      LayerIndexes indexes(kDrawnSizes.size());
      EXPECT_EQ(drawn_.select().Reaching(ranges, threshold, &indexes),
                static_cast<size_t>(below - sorted.begin()));
      EXPECT_EQ(indexes, IndexesOf({sorted.begin(), below}));
    }
  }
}

TEST_P(HostRanges, HaveAPlainLoopsNorms) {
  for (const auto& ranges : CutAtRandom(3)) {
    const std::vector<double> norms = drawn_.select().Norms(ranges);
    for (size_t i = 0; i < ranges.size(); ++i) {
      double squares = 0;
      for (const auto& element : drawn_.Sorted({&ranges[i], 1})) {
        squares += static_cast<double>(element.magnitude) * static_cast<double>(element.magnitude);
      }
      if (std::isnan(norms[i]) || std::isinf(squares)) continue;  // not all are numbers
      EXPECT_NEAR(norms[i], std::sqrt(squares), 1e-9 * std::sqrt(squares));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Residuals, HostRanges, testing::ValuesIn(kDraws));

}  // namespace
}  // namespace weir::compress
