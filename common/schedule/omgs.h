// The best way to group layers into pushes, for the model of push_times.h.
//
// Whatever the first layers' pushes are, what comes after them depends on two numbers alone: when
// they are computed and when they are sent. So all ways to group the first i layers are kept as the
// Pareto set of these two, for every i in turn, and a way that is later in both, or as late, is
// dropped. For a period there is a third, the sum of messages. The result is what OMGS-SGD (Shi et
// al., INFOCOM 2020) claims of its algorithm, OmgsGreedy in schedules.h; the paper has no such
// search.
//
// Place in the life of a batch: none; a run plans its pushes once, by times of its first steps.
// Thread rule: pure functions.
#pragma once

#include "common/schedule/push_times.h"

namespace weir::schedule {

enum class Objective {
  kStep,    // PushTimes::step_seconds: a step waits for the messages of the one before
  kPeriod,  // PushTimes::period_seconds, and of those the same to a billionth the least
            // step_seconds, for that is how old what is sent becomes
};

struct Plan {
  Groups groups;
  size_t largest_set = 0;  // of all Pareto sets: what the search costs grows with its square
};

// No grouping is better by more than rounding. With n layers and sets of s the time is
// O(n^2 s (s + log n)), and O(n^3) more for kPeriod. 160 random layers have sets of 150 at most;
// with a slowdown, by which two clocks say more than one, of some thousand.
Plan Omgs(const Costs& costs, Objective objective);

}  // namespace weir::schedule
