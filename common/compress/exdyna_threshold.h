// The threshold of ExDyna (Yoon and Oh, CCGrid 2024, section IV-C and IV-D; where the paper is
// silent, its code: kljp/exdyna): one for all trainers, corrected a little after every step by how
// much of the target all of them sent.
//
// Each trainer selects, of its own partition (exdyna_blocks.h), what is not below the threshold in
// magnitude.
//
// Place in the life of a batch: counts of the step before -> **threshold** -> select.
// Thread rule: pure functions. Products of doubles alone, so that every trainer has the same
// thresholds, bit for bit, from the same counts.
#pragma once

#include <cstdint>
#include <optional>

#include "common/compress/exdyna_blocks.h"

namespace weir::compress {

// Before the first step: 1 / (2 sqrt(k)) (the code; the paper gives none), which suits elements
// whose L2 norm is about 1. A correction is 0.5 % at most: what is off by a factor of 10 takes
// about 460 steps, and gradients of a scale of 1e-5 over 1,000 steps. The k-th largest magnitude of
// the first step is the better start where somebody can tell it.
// target: k, the elements that all trainers together send in a step, > 0.
double FirstExDynaThreshold(int64_t target);

enum class ExDynaBand {
  // Deviation: near the target, up when more than it was sent and down when not.
  kSymmetric,
  // Algorithm 5 as it is written: near the target always up, down only below 0.909 of it. So what
  // is sent settles at the lower edge of that band, about 0.92 of the target for large counts. The
  // code has the other branch, with a condition that is never false.
  kUpward,
};

enum class ExDynaPace {
  // Algorithm 5 as it is written: half a percent, however far off, and less within the band.
  kEven,
  // Deviation: by a 16th of what was sent too much or too little of the target, at most by 19 %.
  // What is kept grows until most elements were sent once, by more than half a percent a step: so
  // long, hundreds of steps, an even pace sends half as much again.
  kByRatio,
};

// Algorithm 5: the threshold of the next step. By 0.5 % up where sent > 1.1 k, and down where
// sent <= 0.909 k; by about an eighth of a percent in between.
// sent: k', the elements that all trainers together sent under `threshold`, any value.
// Deviation: the threshold stays a positive and finite float. Where a layer has no gradient for
// long enough it would become 0, which no correction changes, and everything would be sent.
double NextExDynaThreshold(double threshold, int64_t sent, int64_t target,
                           ExDynaBand band = ExDynaBand::kSymmetric,
                           ExDynaPace pace = ExDynaPace::kEven);

// The element that a trainer sends where none of its partition reaches the threshold, so that it
// always has something to say (the code; not in the paper): another one in every step. None of a
// partition without elements.
std::optional<int64_t> ExDynaFallback(int64_t step, const ExDynaRange& partition);

}  // namespace weir::compress
