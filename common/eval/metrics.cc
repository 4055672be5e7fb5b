#include "common/eval/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/base/check.h"

namespace weir::eval {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

struct Scored {
  float score;
  uint8_t label;
};

double Entropy(double rate) { return -rate * std::log(rate) - (1 - rate) * std::log1p(-rate); }

double SumLogloss(std::span<const float> scores, std::span<const uint8_t> labels) {
  double sum = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double probability = labels[i] != 0 ? scores[i] : 1.0 - scores[i];
    sum -= std::log(std::clamp(probability, kMinProbability, 1.0 - kMinProbability));
  }
  return sum;
}

// Counts the (positive, negative) pairs in the right order: a walk over the rows by score, one
// group of equal scores at a time.
double Auc(std::span<const float> scores, std::span<const uint8_t> labels) {
  std::vector<Scored> rows(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) rows[i] = {scores[i], labels[i]};
  std::sort(rows.begin(), rows.end(),
            [](const Scored& a, const Scored& b) { return a.score < b.score; });
  uint64_t positives = 0, negatives = 0;
  uint64_t half_pairs = 0;  // two for a pair in order, one for a tie; exact below 3e9 rows
  for (size_t i = 0; i < rows.size();) {
    uint64_t tied_positives = 0, tied_negatives = 0;
    const float score = rows[i].score;
    for (; i < rows.size() && rows[i].score == score; ++i) {
      ++(rows[i].label != 0 ? tied_positives : tied_negatives);
    }
    half_pairs += tied_positives * (2 * negatives + tied_negatives);
    positives += tied_positives;
    negatives += tied_negatives;
  }
  if (positives == 0 || negatives == 0) return kUndefined;
  return static_cast<double>(half_pairs) / 2 / static_cast<double>(positives) /
         static_cast<double>(negatives);
}

}  // namespace

Metrics ComputeMetrics(std::span<const float> scores, std::span<const uint8_t> labels) {
  CHECK_EQ(scores.size(), labels.size());
  const auto has_nan = [](float score) { return std::isnan(score); };
  const auto samples = static_cast<int64_t>(scores.size());
  const auto positives = static_cast<int64_t>(
      std::count_if(labels.begin(), labels.end(), [](uint8_t label) { return label != 0; }));
  if (samples == 0 || std::any_of(scores.begin(), scores.end(), has_nan)) {
    return {samples, positives, kUndefined, kUndefined, kUndefined, kUndefined, kUndefined};
  }
  double score_sum = 0, hits = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    score_sum += scores[i];
    hits += (scores[i] >= 0.5f) == (labels[i] != 0);
  }
  const auto count = static_cast<double>(samples);
  const auto label_sum = static_cast<double>(positives);
  const double rate = label_sum / count;
  Metrics metrics;
  metrics.samples = samples;
  metrics.positives = positives;
  metrics.logloss = SumLogloss(scores, labels) / count;
  metrics.auc = Auc(scores, labels);
  metrics.accuracy = hits / count;
  metrics.normalized_entropy = rate > 0 && rate < 1 ? metrics.logloss / Entropy(rate) : kUndefined;
  metrics.calibration = label_sum > 0 ? score_sum / label_sum : kUndefined;
  return metrics;
}

}  // namespace weir::eval
