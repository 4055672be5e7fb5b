// The costs of push_times.h from the first steps of a run. In some of them all layers left in one
// push, in the others each by itself: what a layer computes the first tell, when nothing of the
// step is under way, and the others how much slower it does while something is.
//
// OMGS-SGD (Shi et al., INFOCOM 2020) measures these before a run and apart from each other; ours
// are the run's own, so what a step waits for besides, its rows and the other trainers, is in them.
//
// Place in the life of a batch: none; a run plans its pushes once, by times of its first steps.
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <vector>

#include "common/schedule/cost_fit.h"
#include "common/schedule/omgs.h"
#include "common/schedule/push_times.h"

namespace weir::schedule {

struct MeasuredStep {
  bool is_single = false;  // else every layer left by itself
  // Of each layer, in backward order, from the selection of what left before it until its gradient
  // was whole. Of the first one nothing is known but the step's seconds.
  std::vector<double> layer_seconds;
  // Of each push that has elements, the last one too.
  std::vector<Measurement> selections;
  double seconds = 0;  // from the last step's end to its own
};

struct MessageTimes {
  Line of_bytes;
  double bytes_per_element = 0;  // of the gradient, sent or not
  double fixed_bytes = 0;        // Costs::fixed_message_seconds
};

// What a step takes by these: the median where it waits for its messages. Where it does not,
// several may be quick before one has to wait: the mean, but for what lies above ten times the
// median, since an evaluation came between. 0 of none.
double TypicalSeconds(std::vector<double> seconds, Objective objective);

class StepTimes {
 public:
  // Of the layers, in backward order.
  explicit StepTimes(std::vector<int64_t> element_counts);

  // Of as many layers.
  void Add(MeasuredStep step);
  // Steps of the kind of which there are fewer.
  size_t count() const;
  bool wants_single() const { return single_.steps <= separate_.steps; }

  // For the objective: a step that waits for its messages has them in its seconds, and forward
  // seconds are what is left without. Needs a step of either kind.
  Costs Fit(const MessageTimes& messages, Objective objective) const;

 private:
  struct Kind {
    size_t steps = 0;
    std::vector<std::vector<double>> layer_seconds;  // [layer]
  };
  std::vector<double> LayerSeconds(const Kind& kind) const;
  double MessageSecondsBeforeTheLast(const Costs& costs) const;
  double ForwardSeconds(const Costs& costs, Objective objective) const;

  std::vector<int64_t> element_counts_;
  Kind single_, separate_;
  std::vector<double> single_seconds_;  // of steps
  std::vector<Measurement> selections_;
};

}  // namespace weir::schedule
