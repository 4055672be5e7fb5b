#include "common/cluster/report_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/metrics/report.h"

namespace weir::cluster {
namespace {

v1::WorkerReport RandomReport(RandomStream* random) {
  v1::WorkerReport report;
  report.set_samples(random->NextBelow(1000));
  for (const char* name : {"bottom/0/weight", "top/0/weight"}) {
    if (random->NextBelow(3) == 0) continue;
    v1::LayerReport& layer = *report.add_layers();
    layer.set_name(name);
    layer.set_policy("dct");
    layer.set_elements(8);
    layer.set_bytes(random->NextBelow(100));
    if (random->NextBelow(2) == 0) layer.set_threshold(static_cast<double>(random->NextBelow(64)));
    if (random->NextBelow(2) == 0) {
      layer.set_residual_norm(static_cast<double>(random->NextBelow(64)));
    }
  }
  return report;
}

const v1::LayerReport* LayerOf(const v1::WorkerReport& report, const std::string& name) {
  for (const v1::LayerReport& layer : report.layers()) {
    if (layer.name() == name) return &layer;
  }
  return nullptr;
}

void ExpectNear(const v1::LayerReport& got, const v1::LayerReport& expected, uint64_t seed) {
  EXPECT_EQ(got.bytes(), expected.bytes()) << seed;
  EXPECT_EQ(got.has_threshold(), expected.has_threshold()) << seed;
  EXPECT_NEAR(got.threshold(), expected.threshold(), 1e-9) << "the mean of all, seed " << seed;
  EXPECT_EQ(got.has_residual_norm(), expected.has_residual_norm()) << seed;
  EXPECT_NEAR(got.residual_norm(), expected.residual_norm(), 1e-9)
      << "the root of the mean square of all, seed " << seed;
}

// Whatever was set when, and however many leaves there are by then.
TEST(ReportTree, IsTheSumOfAllThatWereSetLast) {
  for (const uint64_t seed : {1, 2, 3}) {
    RandomStream random(seed);
    ReportTree tree;
    std::vector<v1::WorkerReport> reports(1 + random.NextBelow(70));
    for (int change = 0; change < 300; ++change) {
      const size_t leaf = random.NextBelow(reports.size());
      reports[leaf] = RandomReport(&random);
      tree.Set(leaf, reports[leaf]);
      if (random.NextBelow(4) != 0) continue;
      const v1::WorkerReport expected = metrics::MergeReports(reports).value();
      const v1::WorkerReport& sum = tree.Sum();
      EXPECT_EQ(sum.samples(), expected.samples()) << seed;
      ASSERT_EQ(sum.layers_size(), expected.layers_size()) << seed;
      for (const v1::LayerReport& layer : expected.layers()) {
        const v1::LayerReport* const found = LayerOf(sum, layer.name());
        ASSERT_NE(found, nullptr) << seed;
        ExpectNear(*found, layer, seed);
      }
    }
  }
}

TEST(ReportTree, OfNothingIsEmpty) { EXPECT_EQ(ReportTree().Sum().ByteSizeLong(), 0u); }

}  // namespace
}  // namespace weir::cluster
