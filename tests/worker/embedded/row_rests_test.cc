#include "worker/embedded/row_rests.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "common/device/cpu_device.h"

namespace weir::worker {
namespace {

// A value of 1 that lost a tenth in each step at rest.
constexpr double kDecay = 0.1;

std::unique_ptr<store::UpdateRule> DecayingRule() {
  v1::UpdateRule config;
  config.mutable_sgd()->set_learning_rate(1);
  config.set_weight_decay(kDecay);
  return store::MakeUpdateRule(config);
}

class RowRestsTest : public testing::Test {
 protected:
  std::vector<float> Lost(const std::vector<uint32_t>& numbers, uint64_t step, bool to_step) {
    if (to_step) {
      rests_.UploadToStep(numbers, step, device_, *stream_, &mirror_);
    } else {
      rests_.UploadToRead(numbers, step, device_, *stream_, &mirror_);
    }
    std::vector<float> lost;
    for (size_t i = 0; i < numbers.size(); ++i) lost.push_back(mirror_.host()[i].lost);
    return lost;
  }
  static float After(int steps) { return static_cast<float>(1 - std::pow(1 - kDecay, steps)); }

  device::Device& device_ = device::CpuDevice();
  const std::unique_ptr<device::Stream> stream_ = device_.MakeStream();
  const std::unique_ptr<store::UpdateRule> rule_ = DecayingRule();
  RowRests rests_{*rule_, 3};
  device::Mirror<kernels::Rest> mirror_;
};

TEST_F(RowRestsTest, AreOfTheStepsSinceARowsLastOne) {
  const std::vector<float> first = Lost({2, 0}, 4, true);
  EXPECT_FLOAT_EQ(first[0], After(3)) << "before its step";
  const std::vector<float> read = Lost({0, 1, 2}, 6, false);
  EXPECT_FLOAT_EQ(read[0], After(2));
  EXPECT_FLOAT_EQ(read[1], After(6));
  EXPECT_FLOAT_EQ(Lost({0}, 6, false)[0], After(2)) << "reading changes nothing";
  EXPECT_FLOAT_EQ(Lost({0}, 5, true)[0], After(0));
  EXPECT_FLOAT_EQ(Lost({0}, 6, false)[0], After(1));
}

TEST_F(RowRestsTest, ALateStepIsTakenInItsPlace) {
  Lost({1}, 9, true);
  EXPECT_EQ(Lost({1}, 7, true)[0], 0);
  EXPECT_FLOAT_EQ(Lost({1}, 10, false)[0], After(1));
}

TEST_F(RowRestsTest, RowsMayBeginLater) {
  rests_.StartAt(100);
  EXPECT_FLOAT_EQ(Lost({1}, 103, false)[0], After(3));
  rests_.set_last(0, rests_.last(1));
  EXPECT_FLOAT_EQ(Lost({0}, 103, false)[0], After(3));
}

TEST(RowRests, AreNoneWhereNothingMovesAtRest) {
  v1::UpdateRule config;
  config.mutable_sgd()->set_learning_rate(1);
  const auto rule = store::MakeUpdateRule(config);
  EXPECT_TRUE(RowRests(*rule, 10).empty());
}

}  // namespace
}  // namespace weir::worker
