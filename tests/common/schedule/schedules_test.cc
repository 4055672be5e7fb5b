#include "common/schedule/schedules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "tests/common/schedule/schedule_costs.h"

namespace weir::schedule {
namespace {

// The paper's text, word for word: arrays over layers, L to 2, all times from scratch at each.
// backward, elements: of layer l at [l], with [0] unused.
struct PaperArrays {
  std::vector<double> backward;
  std::vector<int64_t> elements;
  std::vector<double> backward_begin = {}, message_begin = {};
};

PaperArrays ArraysOf(const Costs& costs) {
  PaperArrays arrays{.backward = {0}, .elements = {0}};
  for (size_t i = costs.layers.size(); i-- > 0;) {
    arrays.backward.push_back(costs.layers[i].backward_seconds);
    arrays.elements.push_back(costs.layers[i].element_count);
  }
  arrays.backward_begin.resize(arrays.backward.size());
  arrays.message_begin.resize(arrays.backward.size());
  return arrays;
}

double SelectionOf(const Costs& costs, int64_t count) {
  return count == 0 ? 0 : costs.selection_seconds(count);
}

double MessageOf(const Costs& costs, int64_t count) {
  return count == 0 ? 0
                    : costs.startup_seconds + costs.element_seconds * static_cast<double>(count);
}

void ComputeBegins(const Costs& costs, PaperArrays* arrays) {
  double computed = 0, sent = 0;
  for (size_t l = arrays->backward.size() - 1; l > 0; --l) {
    arrays->backward_begin[l] = computed;
    computed += arrays->backward[l] + SelectionOf(costs, arrays->elements[l]);
    arrays->message_begin[l] = std::max(computed, sent);
    sent = arrays->message_begin[l] + MessageOf(costs, arrays->elements[l]);
  }
}

Groups PaperGreedy(const Costs& costs) {
  PaperArrays arrays = ArraysOf(costs);
  auto& [backward, elements, backward_begin, message_begin] = arrays;
  Groups groups = {1};
  for (size_t l = costs.layers.size(); l > 1; --l) {
    ComputeBegins(costs, &arrays);
    const double u = backward_begin[l] + backward[l] + backward[l - 1];
    const bool waits = u + SelectionOf(costs, elements[l]) + SelectionOf(costs, elements[l - 1]) <
                       message_begin[l] + MessageOf(costs, elements[l]);
    const bool pays = message_begin[l] + costs.startup_seconds >
                      u + SelectionOf(costs, elements[l] + elements[l - 1]);
    if (!waits || !pays) {
      groups.push_back(1);
      continue;
    }
    ++groups.back();
    backward[l - 1] += std::exchange(backward[l], 0);
    elements[l - 1] += std::exchange(elements[l], 0);
  }
  return groups;
}

TEST(OmgsGreedy, GroupsThreeEqualLayersAsByHand) {
  EXPECT_EQ(OmgsGreedy(EqualLayers(3, 0.5)), (Groups{1, 1, 1}));
  EXPECT_EQ(OmgsGreedy(EqualLayers(3, 2)), Groups{3});
  EXPECT_EQ(OmgsGreedy(EqualLayers(3, 4)), Groups{3});
}

TEST(OmgsGreedy, IsMisledByTheCounterExample) {
  EXPECT_EQ(OmgsGreedy(CounterExample()), (Groups{2, 1}));
}

TEST(OmgsGreedy, IsThePapersTextWordForWord) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const Costs costs = RandomEighths(seed);
    EXPECT_EQ(OmgsGreedy(costs), PaperGreedy(costs)) << "seed " << seed;
  }
}

TEST(OmgsGreedy, PushesNoEmptyLayersByThemselves) {
  Costs costs = EqualLayers(4, 0);
  costs.layers[0].element_count = costs.layers[2].element_count = 0;
  EXPECT_EQ(OmgsGreedy(costs), (Groups{2, 2}));
}

TEST(ByBytes, ClosesAPushThatReachesTheThreshold) {
  const Costs costs = EqualLayers(7, 1);  // 16 bytes each
  EXPECT_EQ(ByBytes(costs, 32), (Groups{2, 2, 2, 1}));
  EXPECT_EQ(ByBytes(costs, 33), (Groups{3, 3, 1}));
  EXPECT_EQ(ByBytes(costs, 48), (Groups{3, 3, 1}));
  EXPECT_EQ(ByBytes(costs, 16), Immediate(costs));
  EXPECT_EQ(ByBytes(costs, 0), Immediate(costs));
  EXPECT_EQ(ByBytes(costs, 112), Single(costs));
  EXPECT_EQ(ByBytes(costs, std::numeric_limits<int64_t>::max()), Single(costs));
}

TEST(Schedules, OfNoLayerAreEmptyAndOfOneAreOne) {
  for (const int layer_count : {0, 1}) {
    const Costs costs = EqualLayers(layer_count, 1);
    const Groups expected(static_cast<size_t>(layer_count), 1);
    EXPECT_EQ(Immediate(costs), expected);
    EXPECT_EQ(Single(costs), expected);
    EXPECT_EQ(ByBytes(costs, 100), expected);
    EXPECT_EQ(OmgsGreedy(costs), expected);
  }
}

}  // namespace
}  // namespace weir::schedule
