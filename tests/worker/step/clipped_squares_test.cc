#include "worker/step/clipped_squares.h"

#include <span>
#include <vector>

#include "common/device/cpu_device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::worker {
namespace {

using ::testing::ElementsAre;

// A tensor that nobody asks squares of stands between.
TEST(ClippedSquares, AreAddedByTheSquareOfTheFactor) {
  std::vector<float> first = {8, 4}, last = {2};
  ClippedSquares squares(
      kernels::CpuCompute(kernels::Precision::kF32),
      {{device::OnCpu(std::span(first)), 0.5f}, {}, {device::OnCpu(std::span(last)), 1}});
  const compress::SquareSumsOfTensors of_step = squares.of_step();
  ASSERT_EQ(of_step.size(), 3u);
  ASSERT_EQ(of_step[0].sums.size, 2u);
  EXPECT_EQ(of_step[0].decay, 0) << "overwritten";
  EXPECT_TRUE(of_step[1].sums.empty());
  device::OnHost(of_step[0].sums)[0] = 16;
  device::OnHost(of_step[0].sums)[1] = 0;
  device::OnHost(of_step[2].sums)[0] = 4;
  EXPECT_THAT(first, ElementsAre(8, 4)) << "not yet";
  const float factor = 0.5f;
  squares.Add(device::CpuStream(), device::OnCpu(&factor));
  EXPECT_THAT(first, ElementsAre(4 + 4, 2));
  EXPECT_THAT(last, ElementsAre(2 + 1));
}

}  // namespace
}  // namespace weir::worker
