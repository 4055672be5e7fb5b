#include "worker/data/teacher.h"

#include <gtest/gtest.h>

#include "tests/worker/data/data_files.h"
#include "worker/data/synthetic.h"

namespace weir::data {
namespace {

TEST(Teacher, ProbabilityIsAFunctionOfTheVisibleFeatures) {
  const v1::SyntheticConfig config = SyntheticShape(100, 0);
  const FeatureModel features(config);
  const Teacher teacher(config, features);
  RandomStream random(5);
  FeatureRow row;
  features.Draw(random, &row);
  const FeatureRow copy = row;
  const double before = teacher.ClickProbability(row);
  EXPECT_EQ(teacher.ClickProbability(copy), before);
  row.dense[0] += 1;
  EXPECT_NE(teacher.ClickProbability(row), before);
  row = copy;
  row.ranks[25] = row.ranks[25] == 1 ? 2 : 1;
  EXPECT_NE(teacher.ClickProbability(row), before);
}

enum Part { kIds, kDense };

bool DependsOn(Part part, const v1::SyntheticConfig& config) {
  const FeatureModel features(config);
  const Teacher teacher(config, features);
  RandomStream random(5);
  FeatureRow row, other;
  features.Draw(random, &row);
  features.Draw(random, &other);
  FeatureRow mixed = row;
  if (part == kIds) {
    mixed.ranks = other.ranks;
  } else {
    mixed.dense = other.dense;
  }
  return teacher.ClickProbability(mixed) != teacher.ClickProbability(row);
}

TEST(Teacher, ATermWithoutAShareHasNoEffect) {
  v1::SyntheticConfig config = SyntheticShape(100, 0);
  config.mutable_teacher()->Clear();
  config.mutable_teacher()->set_waves(7);
  EXPECT_FALSE(DependsOn(kIds, config));
  EXPECT_TRUE(DependsOn(kDense, config));
  config.mutable_teacher()->Clear();
  config.mutable_teacher()->set_linear(0.1);
  config.mutable_teacher()->set_pairwise(0.2);
  EXPECT_TRUE(DependsOn(kIds, config));
  EXPECT_FALSE(DependsOn(kDense, config));
}

TEST(Teacher, SharesCountByTheirSum) {
  v1::SyntheticConfig config = SyntheticShape(1'000, 0);
  const double bayes = BayesLogloss(config, Split::kTrain, 1'000);
  v1::TeacherConfig& teacher = *config.mutable_teacher();
  teacher.set_linear(100 * teacher.linear());
  teacher.set_pairwise(100 * teacher.pairwise());
  teacher.set_waves(100 * teacher.waves());
  teacher.set_gated(100 * teacher.gated());
  EXPECT_NEAR(BayesLogloss(config, Split::kTrain, 1'000), bayes, 1e-9);
}

}  // namespace
}  // namespace weir::data
