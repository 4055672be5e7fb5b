#include "common/schedule/push_times.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"

namespace weir::schedule {
namespace {

void CheckSeconds(double seconds, const char* what) {
  CHECK(std::isfinite(seconds) && seconds >= 0) << what << ": " << seconds;
}

// When work that begins at `begin` ends, with messages under way until `sent`.
double EndOfWork(double begin, double seconds, double sent, double slowdown) {
  if (sent <= begin) return begin + seconds;
  const double overlap = sent - begin;
  if (seconds * slowdown <= overlap) return begin + seconds * slowdown;
  return sent + (seconds - overlap / slowdown);
}

// The push of so many layers from `first` on.
Push PushOfLayers(const Costs& costs, size_t first, int layer_count) {
  double backward_seconds = 0;
  int64_t element_count = 0;
  for (size_t i = first; i < first + static_cast<size_t>(layer_count); ++i) {
    backward_seconds += costs.layers[i].backward_seconds;
    element_count += costs.layers[i].element_count;
  }
  return PushOf(costs, backward_seconds, element_count);
}

void CheckGroups(const Costs& costs, const Groups& groups) {
  size_t layer_count = 0;
  for (const int count : groups) {
    CHECK_GT(count, 0);
    layer_count += static_cast<size_t>(count);
  }
  CHECK_EQ(layer_count, costs.layers.size());
}

}  // namespace

PushTimes TimesOf(const Costs& costs, const Groups& groups) {
  CheckCosts(costs);
  CheckGroups(costs, groups);
  Clocks clocks{.computed = costs.forward_seconds};
  double compute_seconds = costs.forward_seconds, message_seconds = costs.fixed_message_seconds;
  size_t first = 0;
  for (const int layer_count : groups) {
    const Push push = PushOfLayers(costs, first, layer_count);
    clocks = After(clocks, push, costs.sending_slowdown);
    compute_seconds += push.backward_seconds + push.selection_seconds;
    message_seconds += push.message_seconds;
    first += static_cast<size_t>(layer_count);
  }
  return {
      .step_seconds = std::max(clocks.computed, clocks.sent) + costs.fixed_message_seconds,
      .period_seconds = PeriodSeconds(compute_seconds, message_seconds, costs.sending_slowdown)};
}

Push PushOf(const Costs& costs, double backward_seconds, int64_t element_count) {
  Push push{.backward_seconds = backward_seconds, .element_count = element_count};
  if (element_count == 0) return push;
  push.message_seconds =
      costs.startup_seconds + costs.element_seconds * static_cast<double>(element_count);
  if (costs.selection_seconds) push.selection_seconds = costs.selection_seconds(element_count);
  CHECK(push.selection_seconds >= 0) << push.selection_seconds << " s for " << element_count;
  return push;
}

Clocks After(const Clocks& before, const Push& push, double sending_slowdown) {
  const double computed = EndOfWork(before.computed, push.backward_seconds + push.selection_seconds,
                                    before.sent, sending_slowdown);
  return {.computed = computed, .sent = std::max(computed, before.sent) + push.message_seconds};
}

double PeriodSeconds(double compute_seconds, double message_seconds, double sending_slowdown) {
  // Without a slowdown nothing is lost, even of messages that never end: 0 times infinity is none.
  const double lost = sending_slowdown > 1 ? (1 - 1 / sending_slowdown) * message_seconds : 0;
  return std::max(message_seconds, compute_seconds + lost);
}

void CheckCosts(const Costs& costs) {
  for (const Layer& layer : costs.layers) {
    CheckSeconds(layer.backward_seconds, "backward");
    CHECK_GE(layer.element_count, 0);
  }
  CheckSeconds(costs.startup_seconds, "start of a message");
  CheckSeconds(costs.element_seconds, "element of a message");
  CheckSeconds(costs.forward_seconds, "forward");
  CheckSeconds(costs.fixed_message_seconds, "rows of a message");
  CHECK(std::isfinite(costs.sending_slowdown) && costs.sending_slowdown >= 1)
      << costs.sending_slowdown;
}

}  // namespace weir::schedule
