#include "tools/bench/training_peers.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace weir::bench {
namespace {

VariantRate Rate(const char* name, bool bf16, double samples_per_second) {
  return {{name, bf16, {}}, name, samples_per_second};
}

TEST(TrainingVariants, HaveANameEachInTheirPrecision) {
  std::set<std::pair<bool, std::string>> names;
  for (const TrainingVariant& variant : TrainingVariants()) {
    EXPECT_TRUE(names.emplace(variant.bf16, variant.name).second) << variant.name;
  }
  EXPECT_TRUE(names.contains({false, "pytorch"}));
  EXPECT_TRUE(names.contains({true, "pytorch"}));
}

TEST(TrainingVariants, ComputeInThePrecisionThatTheyAreCountedUnder) {
  for (const TrainingVariant& variant : TrainingVariants()) {
    const std::set<std::string> arguments(variant.arguments.begin(), variant.arguments.end());
    EXPECT_EQ(arguments.contains("--bf16"), variant.bf16) << variant.name;
  }
}

TEST(FastestVariant, IsOfThePrecisionThatIsAskedFor) {
  const std::vector<VariantRate> rates = {Rate("pytorch", false, 100), Rate("fbgemm", false, 120),
                                          Rate("torchrec", false, 110), Rate("pytorch", true, 150),
                                          Rate("fbgemm", true, 140)};
  ASSERT_NE(Fastest(rates, false), nullptr);
  EXPECT_EQ(Fastest(rates, false)->variant.name, "fbgemm");
  ASSERT_NE(Fastest(rates, true), nullptr);
  EXPECT_EQ(Fastest(rates, true)->variant.name, "pytorch");
}

TEST(FastestVariant, IsNoneThatCouldNotBeMeasured) {
  EXPECT_EQ(Fastest({}, false), nullptr);
  const std::vector<VariantRate> rates = {Rate("fbgemm", false, 0), Rate("pytorch", false, 100),
                                          Rate("fbgemm", true, 0)};
  ASSERT_NE(Fastest(rates, false), nullptr);
  EXPECT_EQ(Fastest(rates, false)->variant.name, "pytorch");
  EXPECT_EQ(Fastest(rates, true), nullptr);
}

}  // namespace
}  // namespace weir::bench
