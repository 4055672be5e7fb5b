// Plans on a card: a threshold that a sample gives is not awaited.
#include "common/compress/device_planner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/gpu/training/card_layer.h"

namespace weir::compress {
namespace {

// Plans of two steps, of which the second must not run anything, and what comes of it where
// thresholds are kept.
class TwoPlans {
 public:
  explicit TwoPlans(const std::string& rule) : layer_(rule), layers_{layer_.layer()} {
    EXPECT_TRUE(planner_.Plan(*stream_, from_, &plans_).ok());  // makes room
    EXPECT_TRUE(stream_->Synchronize().ok());
    test::FailAfterLaunches(0);
    second_ = planner_.Plan(*stream_, from_, &plans_);
    test::FailAfterLaunches(std::numeric_limits<uint64_t>::max());
  }
  ~TwoPlans() { test::ResetCard(); }

  const Status& second() const { return second_; }
  kernels::LayerThreshold EndOfSecond() {
    kernels::LayerThreshold threshold;
    stream_->CopyToHost<kernels::LayerThreshold>(thresholds_.span(), {&threshold, 1});
    EXPECT_TRUE(stream_->Synchronize().ok());
    return threshold;
  }
  std::vector<StepPlan>& plans() { return plans_; }

 private:
  const CardLayer layer_;
  const std::vector<DeviceLayer> layers_;
  const std::unique_ptr<device::Stream> stream_ = layer_.MakeStream();
  const device::Buffer<float> gradient_ = layer_.Put(Drawn(1));
  const device::Buffer<float> residual_ = layer_.Put(std::vector<float>(Drawn(1).size()));
  const device::Buffer<kernels::LayerThreshold> thresholds_ =
      layer_.Put(std::vector<kernels::LayerThreshold>(1));
  const kernels::SelectFrom from_{.gradient = gradient_.data(),
                                  .residual = residual_.data(),
                                  .square_sums = {},
                                  .scales = {},
                                  .thresholds = thresholds_.data()};
  DevicePlanner planner_{layer_.compute(), layers_, {}};
  std::vector<StepPlan> plans_;
  Status second_;
};

TEST(DevicePlannerOnACard, DoesNotAwaitTheRankOfASample) {
  if (!test::kIsEmulated) GTEST_SKIP() << "a real one runs before anybody waits";
  TwoPlans dct("dct { sparsity: 0.99 lifespan: 1 controller: false }");
  ASSERT_TRUE(dct.second().ok()) << dct.second();
  EXPECT_EQ(dct.plans()[0].threshold, std::nullopt);
  std::vector<float> magnitudes = Drawn(1);
  for (float& magnitude : magnitudes) magnitude = std::fabs(magnitude);
  EXPECT_TRUE(dct.plans()[0].takes_threshold);
  EXPECT_EQ(dct.EndOfSecond().controlled.threshold, RankedOf(magnitudes, {.sparsity = 0.99}));
}

// A sample that a policy itself looks at comes to the host.
TEST(DevicePlannerOnACard, AwaitsASample) {
  if (!test::kIsEmulated) GTEST_SKIP() << "a real one runs before anybody waits";
  EXPECT_FALSE(TwoPlans("sidco { sparsity: 0.99 }").second().ok());
}

}  // namespace
}  // namespace weir::compress
