#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "common/kernels/cpu_kernels.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::kernels {
namespace {

using ::testing::ElementsAre;

float ClipNorm(double limit, std::vector<float>* gradients, std::vector<float>* squares) {
  float factor = std::nanf("");
  CpuKernels().clip_norm(limit, {gradients->data(), std::ssize(*gradients)},
                         {squares->data(), std::ssize(*squares)}, &factor);
  return factor;
}
float ClipNorm(double limit, std::vector<float>* gradients) {
  std::vector<float> none;
  return ClipNorm(limit, gradients, &none);
}

TEST(ClipNorm, ScalesALargeGradientDownToTheNorm) {
  std::vector<float> gradients = {3, 0, -4};
  EXPECT_FLOAT_EQ(ClipNorm(1, &gradients), 0.2f);
  EXPECT_FLOAT_EQ(gradients[0], 0.6f);
  EXPECT_EQ(gradients[1], 0);
  EXPECT_FLOAT_EQ(gradients[2], -0.8f);
}

TEST(ClipNorm, LeavesASmallOne) {
  std::vector<float> gradients = {3, -4};
  EXPECT_EQ(ClipNorm(5, &gradients), 1);
  EXPECT_THAT(gradients, ElementsAre(3, -4));
  std::vector<float> none;
  EXPECT_EQ(ClipNorm(1, &none), 1);
}

TEST(ClipNorm, ScalesSquaresByTheSquare) {
  std::vector<float> gradients = {3, -4}, squares = {8, 16};
  ClipNorm(2.5, &gradients, &squares);
  EXPECT_THAT(gradients, ElementsAre(1.5, -2));
  EXPECT_THAT(squares, ElementsAre(2, 4));
}

TEST(ClipNorm, SumsEveryElementOfAnyLength) {
  for (size_t size = 1; size < 40; ++size) {
    std::vector<float> gradients(size);
    std::iota(gradients.begin(), gradients.end(), 1.0f);
    ClipNorm(0.5, &gradients);
    double sum = 0;
    for (const float g : gradients) sum += static_cast<double>(g) * g;
    EXPECT_NEAR(std::sqrt(sum), 0.5, 1e-6) << size;
  }
}

TEST(ClipNorm, LeavesWhatIsNotANumberToWhoeverRefusesIt) {
  std::vector<float> gradients = {std::numeric_limits<float>::quiet_NaN(), 100};
  ClipNorm(1, &gradients);
  EXPECT_TRUE(std::isnan(gradients[0]));
  EXPECT_EQ(gradients[1], 100);
  const float infinity = std::numeric_limits<float>::infinity();
  gradients = {-infinity, 100};
  ClipNorm(1, &gradients);
  EXPECT_EQ(gradients[0], -infinity);
  EXPECT_EQ(gradients[1], 100) << "not 0, which would hide it";
}

}  // namespace
}  // namespace weir::kernels
