#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/metrics/report.h"

namespace weir::metrics {
namespace {

v1::WorkerReport WithLayers(const std::string& text) {
  v1::WorkerReport report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &report)) << text;
  return report;
}

// Of those that have one; a sum of sums is that of all.
TEST(MergedResidual, HasTheRootOfTheMeanSquare) {
  const std::vector<v1::WorkerReport> reports = {
      WithLayers(R"(layers { name: "a" residual_norm: 1 } layers { name: "b" residual_norm: 0 })"),
      WithLayers(R"(layers { name: "a" residual_norm: 7 } layers { name: "b" })"),
      WithLayers(R"(layers { name: "a" } layers { name: "c" })"),
      WithLayers(R"(layers { name: "a" residual_norm: 2 })")};
  const auto first = MergeReports(reports[0], reports[1]);
  const auto second = MergeReports(reports[2], reports[3]);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->layers(0).residual_norm(), 5);
  for (const auto& all : {MergeReports(reports), MergeReports(*first, *second)}) {
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_NEAR(all->layers(0).residual_norm(), std::sqrt(18.0), 1e-12);
    EXPECT_EQ(all->layers(0).residual_workers(), 3u);
    EXPECT_TRUE(all->layers(1).has_residual_norm());
    EXPECT_EQ(all->layers(1).residual_workers(), 1u);
    EXPECT_FALSE(all->layers(2).has_residual_norm());
  }
}

}  // namespace
}  // namespace weir::metrics
