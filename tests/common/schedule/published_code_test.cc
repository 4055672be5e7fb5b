// What the authors' public code of OMGS-SGD (HKBU-HPML/OMGS-SGD) makes of a few models, on four
// workers: it was run, and its groups and the seconds that it predicts are written down here.
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <vector>

#include "common/schedule/omgs.h"
#include "common/schedule/schedules.h"
#include "tests/common/schedule/schedule_costs.h"

namespace weir::schedule {
namespace {

struct Published {
  std::vector<int64_t> sizes;    // in the order of the model
  std::vector<double> backward;  // seconds
  double startup;                // of one of the two messages that a group makes in the code
  Groups merged;                 // by its times
  Groups of_8192;                // by its elements
  double exposed_seconds;        // of messages, behind the end of the last selection
  double selection_seconds;      // of all
};

void PrintTo(const Published& published, std::ostream* out) {
  *out << published.sizes.size() << " layers";
}

// A density of 1/4, four workers of 4 bytes an element, and everything twice: values and indexes.
Costs CostsOf(const Published& published) {
  Costs costs{.selection_seconds = SortSeconds(0x1p-16),
              .startup_seconds = 2 * published.startup,
              .element_seconds = 2 * 0.25 * 0x1p-10 * 4 * 4};
  for (size_t i = published.sizes.size(); i-- > 0;) {
    costs.layers.push_back({published.backward[i], published.sizes[i]});
  }
  return costs;
}

// The groups that the code's prediction is of: it never decides on the first two layers, which it
// sends together and counts apart.
Groups CountedGroups(const Published& published) {
  Groups groups = published.merged;
  --groups[0];
  groups.insert(groups.begin(), 1);
  return groups;
}

double ComputedSeconds(const Costs& costs, const Groups& groups, double* selection) {
  double computed = 0;
  size_t layer = 0;
  *selection = 0;
  for (const int count : groups) {
    int64_t elements = 0;
    for (int i = 0; i < count; ++i, ++layer) {
      computed += costs.layers[layer].backward_seconds;
      elements += costs.layers[layer].element_count;
    }
    *selection += costs.selection_seconds(elements);
  }
  return computed + *selection;
}

class PublishedOmgs : public testing::TestWithParam<Published> {};

TEST_P(PublishedOmgs, PredictsTheSameSeconds) {
  const Published& published = GetParam();
  const Costs costs = CostsOf(published);
  const Groups groups = CountedGroups(published);
  double selection = 0;
  const double computed = ComputedSeconds(costs, groups, &selection);
  EXPECT_NEAR(selection, published.selection_seconds, 1e-6);
  EXPECT_NEAR(TimesOf(costs, groups).step_seconds - computed, published.exposed_seconds, 1e-6);
}

TEST_P(PublishedOmgs, MergesByElementsAsByBytes) {
  const Published& published = GetParam();
  EXPECT_EQ(ByBytes(CostsOf(published), 4 * 8192), published.of_8192);
}

TEST_P(PublishedOmgs, IsNeverBetterThanTheBest) {
  const Published& published = GetParam();
  const Costs costs = CostsOf(published);
  EXPECT_LE(TimesOf(costs, Omgs(costs, Objective::kStep).groups).step_seconds,
            TimesOf(costs, published.merged).step_seconds);
}

INSTANTIATE_TEST_SUITE_P(
    Models, PublishedOmgs,
    testing::Values(
        Published{{4096, 8192, 128}, {3.125, 1.125, 0.125}, 0.5, {2, 1}, {2, 1}, 94.125, 2.388672},
        Published{{512, 128, 8192, 8192, 512},
                  {3, 0.875, 0.125, 2.625, 1.625},
                  4,
                  {5},
                  {2, 1, 2},
                  142.723921,
                  3.721392},
        Published{{2048, 4096, 32, 1024, 64, 64, 32, 128},
                  {3.375, 0.75, 1.125, 1.875, 0.25, 3.75, 1.375, 3.125},
                  1,
                  {2, 5, 1},
                  {8},
                  57.53125,
                  1.356173},
        Published{{2048, 4096, 32, 16, 512, 256, 32, 512},
                  {4, 1.875, 2.625, 3.625, 3, 2.875, 0.125, 0.125},
                  8,
                  {8},
                  {8},
                  71.137417,
                  1.432896},
        Published{{8192, 64, 256, 512, 4096, 4096, 2048, 512, 32, 32, 32, 512},
                  {2.75, 3, 1.375, 1.5, 3.625, 0.625, 0.5, 3.5, 2.125, 4, 2.125, 0.125},
                  2,
                  {12},
                  {8, 4},
                  159.25,
                  4.399862}));

}  // namespace
}  // namespace weir::schedule
