// The learning rate of each step: the rule's own, times the factor of its schedule.
//
// Place in the life of a batch: push -> number -> decode -> **apply**.
// Thread rule: immutable, any thread.
#pragma once

#include <cstdint>

#include "common/proto/config.pb.h"

namespace weir::store {

class LearningRate {
 public:
  // rate: of the rule. schedule: with defaults filled in and valid.
  LearningRate(double rate, const v1::LearningRateSchedule& schedule);

  // step: from 1.
  double At(uint64_t step) const;

  // From this step on the rate stays as it is, or is too small to matter.
  uint64_t settled_step() const;

 private:
  double DecayAt(double step) const;

  const double rate_;
  const v1::LearningRateSchedule schedule_;
  const int64_t decay_start_;  // at least the first step
};

}  // namespace weir::store
