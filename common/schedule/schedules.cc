#include "common/schedule/schedules.h"

#include <algorithm>

#include "common/base/check.h"

namespace weir::schedule {
namespace {

// The layers that wait for the next ones of a schedule.
struct Waiting {
  int layer_count = 0;
  double backward_seconds = 0;
  int64_t element_count = 0;

  Waiting With(const Layer& layer) const {
    return {layer_count + 1, backward_seconds + layer.backward_seconds,
            element_count + layer.element_count};
  }
};

Push PushOfWaiting(const Costs& costs, const Waiting& waiting) {
  return PushOf(costs, waiting.backward_seconds, waiting.element_count);
}

// Whether what waits, with pushes before it that end at `before`, takes in the next layer.
bool TakesIn(const Costs& costs, const Clocks& before, const Waiting& waiting, const Layer& next) {
  if (waiting.element_count == 0) return true;
  const double slowdown = costs.sending_slowdown;
  const Clocks alone = After(before, PushOfWaiting(costs, waiting), slowdown);
  const Clocks apart = After(alone, PushOfWaiting(costs, Waiting().With(next)), slowdown);
  const Clocks merged = After(before, PushOfWaiting(costs, waiting.With(next)), slowdown);
  const double message_begin = std::max(alone.computed, before.sent);
  return apart.computed < alone.sent && message_begin + costs.startup_seconds > merged.computed;
}

}  // namespace

Groups Immediate(const Costs& costs) { return Groups(costs.layers.size(), 1); }

Groups Single(const Costs& costs) {
  if (costs.layers.empty()) return {};
  return {static_cast<int>(costs.layers.size())};
}

Groups ByBytes(const Costs& costs, int64_t push_bytes) {
  CHECK_GE(push_bytes, 0);
  constexpr auto kElementBytes = static_cast<int64_t>(sizeof(float));
  const int64_t push_elements = push_bytes / kElementBytes + (push_bytes % kElementBytes != 0);
  Groups groups;
  Waiting waiting;
  for (const Layer& layer : costs.layers) {
    waiting = waiting.With(layer);
    if (waiting.element_count < push_elements) continue;
    groups.push_back(waiting.layer_count);
    waiting = {};
  }
  if (waiting.layer_count > 0) groups.push_back(waiting.layer_count);
  return groups;
}

Groups OmgsGreedy(const Costs& costs) {
  CheckCosts(costs);
  Groups groups;
  Waiting waiting;
  // Of the pushes in groups. They are those that the paper's recomputation gives: a merge changes
  // nothing of what was decided before it.
  Clocks before{.computed = costs.forward_seconds};
  for (const Layer& layer : costs.layers) {
    if (waiting.layer_count > 0 && !TakesIn(costs, before, waiting, layer)) {
      before = After(before, PushOfWaiting(costs, waiting), costs.sending_slowdown);
      groups.push_back(waiting.layer_count);
      waiting = {};
    }
    waiting = waiting.With(layer);
  }
  if (waiting.layer_count > 0) groups.push_back(waiting.layer_count);
  return groups;
}

}  // namespace weir::schedule
