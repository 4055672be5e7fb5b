// How good predicted click probabilities are, given the labels.
//
// Place in the life of a batch: none; test rows are scored apart from training.
// Thread rule: pure function, any thread.
#pragma once

#include <cstdint>
#include <span>

namespace weir::eval {

// Probabilities are clamped to [kMinProbability, 1 - kMinProbability] inside the logarithm, so that
// one certain and wrong prediction costs about 16 and not infinity.
inline constexpr double kMinProbability = 1e-7;

// A figure that the rows do not define is a quiet NaN (JSON: null): all but samples and
// positives without rows or with a NaN among the scores; auc and normalized_entropy with labels of
// one class only; calibration without a positive label.
struct Metrics {
  int64_t samples = 0;
  int64_t positives = 0;          // labels that are 1
  double logloss = 0;             // mean of -ln of the probability given to the label, in nats
  double auc = 0;                 // P(a positive scores above a negative), ties count half; exact
  double accuracy = 0;            // share of rows where (score >= 0.5) is the label
  double normalized_entropy = 0;  // logloss over the entropy of the base rate
  double calibration = 0;         // sum of scores over sum of labels
};

// scores: probabilities in [0, 1]. labels: 0 or 1, as many as scores.
// Time O(n log n), 8 bytes a row of memory.
Metrics ComputeMetrics(std::span<const float> scores, std::span<const uint8_t> labels);

}  // namespace weir::eval
