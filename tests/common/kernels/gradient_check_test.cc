#include "tests/common/kernels/gradient_check.h"

#include <gtest/gtest.h>

namespace weir::test {
namespace {

// loss = sum of x^3, whose gradient 3 x^2 has large and small elements.
struct Cubes {
  std::vector<double> x = Widen(RandomFloats(40, 3));
  std::vector<double> numeric = NumericGradient(x, [this] {
    double sum = 0.0;
    for (const double value : x) sum += value * value * value;
    return sum;
  });
  std::vector<float> analytic() const {
    std::vector<float> gradient;
    for (const double value : x) gradient.push_back(static_cast<float>(3.0 * value * value));
    return gradient;
  }
};

TEST(GradientCheck, AcceptsTheTrueGradient) {
  const Cubes cubes;
  EXPECT_TRUE(GradientsAgree(cubes.analytic(), cubes.numeric));
}

TEST(GradientCheck, RejectsAGradientThatIsOnePercentTooLarge) {
  const Cubes cubes;
  std::vector<float> gradient = cubes.analytic();
  for (float& value : gradient) value *= 1.01f;
  EXPECT_FALSE(GradientsAgree(gradient, cubes.numeric));
}

TEST(GradientCheck, RejectsOneElementThatIsOnePercentTooSmall) {
  const Cubes cubes;
  for (size_t i = 0; i < cubes.x.size(); ++i) {
    std::vector<float> gradient = cubes.analytic();
    if (gradient[i] < 0.01f) continue;
    gradient[i] *= 0.99f;
    EXPECT_FALSE(GradientsAgree(gradient, cubes.numeric)) << i;
  }
}

TEST(GradientCheck, RejectsNan) {
  const Cubes cubes;
  std::vector<float> gradient = cubes.analytic();
  gradient[7] = std::nanf("");
  EXPECT_FALSE(GradientsAgree(gradient, cubes.numeric));
}

}  // namespace
}  // namespace weir::test
