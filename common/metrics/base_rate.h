// What a model is held against: saying the same of every row.
//
// Thread rule: pure functions.
#pragma once

#include <algorithm>
#include <cmath>

#include "common/metrics/report.h"
#include "common/proto/config.pb.h"
#include "common/proto/report.pb.h"

namespace weir::metrics {

// Less than this share below a constant's logloss is what chance makes of a model that has learned
// nothing.
inline constexpr double kHardlyBetter = 0.999;

// Of the rows to train on, positive ones; NaN without rows.
inline double BaseRate(const v1::WorkerReport& total) {
  const v1::LabelReport& labels = total.labels();
  return Ratio(static_cast<double>(labels.positives()), static_cast<double>(labels.rows()));
}

// The mean logloss of saying `guess` of every row when `rate` of them are positive.
inline double LoglossOfConstant(double guess, double rate) {
  constexpr double kLeast = 1e-7;  // as evaluation has it
  guess = std::clamp(guess, kLeast, 1 - kLeast);
  return -rate * std::log(guess) - (1 - rate) * std::log1p(-guess);
}

// Whether what is trained for is the logloss, or has its best where the logloss has it.
inline bool PredictsProbabilities(const v1::LossConfig& loss) {
  return !loss.has_weighted_bce() ||
         loss.weighted_bce().positive_weight() == loss.weighted_bce().negative_weight();
}

}  // namespace weir::metrics
