// What steps without a gradient do to a parameter whose rule moves it in them: all of them at once.
//
// Momentum goes on by itself: after the gradient it fades by the same factor each step and the
// value moves on by it. With fading factors b1 of the momentum m and b2 of the second moment v, the
// k steps after step t move the value by
//
//   m * sum over j = 1 .. k of  b1^j rate(t + j) / (sqrt(b2^j v) / c(t + j) + epsilon),
//
// c being Adam's correction of the root. Between them b2^j hardly changes: b1^j is gone after some
// hundred steps. So the sum is taken as W / (sqrt(v) D + epsilon), where W is the sum of the b1^j
// rate(t + j) and D such that it is exact without epsilon; it is exact as well where epsilon alone
// counts. In between, where epsilon is as large as the root, it is off: with Adam's usual fades by
// up to 4.5 % of itself at the first step, 1 % at the tenth, 0.05 % at the hundredth and some 1e-5
// when the corrections have settled; with b2 near b1 by more (both 0.9: 12 %). Without second
// moments there is no approximation. Terms below 2^-30 of the first are left out.
//
// Place in the life of a batch: push -> number -> decode -> **apply**; row pull -> **read**.
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/kernels/rest.h"
#include "common/store/step_table.h"

namespace weir::store {

using kernels::Rest;

class RestSums {
 public:
  // fade: b1, below the root of second_fade, b2; a rule without second moments has b2 = 1. The rest
  // as in StepTable.
  RestSums(double fade, double second_fade, std::function<StepFactors(uint64_t step)> factors,
           uint64_t settled_step);

  // Of the steps after `last`, up to and including `now`.
  Rest Between(uint64_t last, uint64_t now) const;

 private:
  void Sum(uint64_t last, size_t count, Rest* rest) const;
  void SumDecayed(uint64_t last, size_t count, Rest* rest) const;

  const double log_fade_;
  const double log_second_fade_;
  const bool decays_;
  std::vector<float> fades_;         // b1^j, from j = 1
  std::vector<float> scaled_fades_;  // (b1 / sqrt(b2))^j
  StepTable table_;
};

}  // namespace weir::store
