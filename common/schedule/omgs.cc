#include "common/schedule/omgs.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "common/base/check.h"
#include "common/schedule/least_periods.h"

namespace weir::schedule {
namespace {

// By how much sums of the same numbers in another order may differ, with a wide margin.
constexpr double kRounding = 1e-12;

// Periods that differ by less are the same.
constexpr double kSamePeriod = 1e-9;

bool NoLater(double a, double b) { return a <= b * (1 + kRounding); }

// A way to group the first layers.
struct Beginning {
  Clocks clocks;
  double selection_seconds = 0;  // in all
  double message_seconds = 0;    // in all
  size_t pushed_before = 0;      // layers before the last push
  size_t beginning_before = 0;   // which of the ways to group those
};

class Search {
 public:
  Search(const Costs& costs, Objective objective)
      : costs_(costs), objective_(objective), pushes_(AllPushesOf(costs)) {
    if (objective == Objective::kStep) return;
    periods_.emplace(costs, pushes_);
    period_limit_ = periods_->Behind(0, 0, costs.fixed_message_seconds) * (1 + kSamePeriod);
  }

  Plan Run() {
    beginnings_.push_back({{.clocks = {.computed = costs_.forward_seconds},
                            .message_seconds = costs_.fixed_message_seconds}});
    for (size_t pushed = 1; pushed <= pushes_.size(); ++pushed) {
      std::vector<Beginning> all = Extended(pushed);
      beginnings_.push_back(ParetoSet(&all));
    }
    CHECK(!beginnings_.back().empty());  // where no best grouping ends a push, others may be
    return Best();
  }

 private:
  // All ways to group the first `pushed` layers, from what is kept of fewer.
  std::vector<Beginning> Extended(size_t pushed) const {
    std::vector<Beginning> all;
    for (size_t first = 0; first < pushed; ++first) {
      const Push& push = pushes_[first][pushed - first - 1];
      for (size_t i = 0; i < beginnings_[first].size(); ++i) {
        const Beginning& before = beginnings_[first][i];
        const Beginning longer{
            .clocks = After(before.clocks, push, costs_.sending_slowdown),
            .selection_seconds = before.selection_seconds + push.selection_seconds,
            .message_seconds = before.message_seconds + push.message_seconds,
            .pushed_before = first,
            .beginning_before = i};
        if (CanBeBest(longer, pushed)) all.push_back(longer);
      }
    }
    return all;
  }

  bool CanBeBest(const Beginning& beginning, size_t pushed) const {
    return objective_ == Objective::kStep ||
           periods_->Behind(pushed, beginning.selection_seconds, beginning.message_seconds) <=
               period_limit_;
  }

  // Of two that are sorted as ParetoSet sorts them: `a` is not computed later. Whether it can have
  // a longer period is then a matter of its messages alone. For what computing takes, and loses by
  // messages, is W + (1 - 1/s) C, and clocks t and q tell it: C - (q - t) of the messages are sent
  // by t, so t = W + (1 - 1/s) (C - (q - t)), and the sum is t/s + (1 - 1/s) q.
  bool IsNoWorse(const Beginning& a, const Beginning& b) const {
    return NoLater(a.clocks.sent, b.clocks.sent) &&
           (objective_ == Objective::kStep || NoLater(a.message_seconds, b.message_seconds));
  }

  std::vector<Beginning> ParetoSet(std::vector<Beginning>* all) const {
    std::sort(all->begin(), all->end(), [](const Beginning& a, const Beginning& b) {
      return std::tie(a.clocks.computed, a.clocks.sent) <
             std::tie(b.clocks.computed, b.clocks.sent);
    });
    std::vector<Beginning> kept;
    for (const Beginning& beginning : *all) {
      // Those kept last are sent first.
      if (std::none_of(kept.rbegin(), kept.rend(),
                       [&](const Beginning& other) { return IsNoWorse(other, beginning); })) {
        kept.push_back(beginning);
      }
    }
    return kept;
  }

  Plan Best() const {
    Plan plan;
    for (const auto& set : beginnings_) plan.largest_set = std::max(plan.largest_set, set.size());
    const auto best = std::min_element(
        beginnings_.back().begin(), beginnings_.back().end(),
        [](const Beginning& a, const Beginning& b) { return a.clocks.sent < b.clocks.sent; });
    const Beginning* at = &*best;
    for (size_t pushed = pushes_.size(); pushed > 0;) {
      plan.groups.push_back(static_cast<int>(pushed - at->pushed_before));
      pushed = at->pushed_before;
      at = &beginnings_[pushed][at->beginning_before];
    }
    std::reverse(plan.groups.begin(), plan.groups.end());
    return plan;
  }

  const Costs& costs_;
  const Objective objective_;
  const AllPushes pushes_;
  std::optional<LeastPeriods> periods_;  // for kPeriod
  double period_limit_ = 0;
  std::vector<std::vector<Beginning>> beginnings_;  // [layers pushed]
};

}  // namespace

Plan Omgs(const Costs& costs, Objective objective) {
  CheckCosts(costs);
  return Search(costs, objective).Run();
}

}  // namespace weir::schedule
