#include "common/cluster/evaluation.h"

#include <vector>

#include "common/eval/metrics.h"

namespace weir::cluster {
namespace {

template <typename T>
void Append(const std::vector<T>& from, std::vector<T>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

}  // namespace

size_t RowCount(const ChunkScores& chunks) {
  size_t rows = 0;
  for (const auto& [key, scores] : chunks) rows += scores->labels.size();
  return rows;
}

v1::EvaluationReport Evaluate(const ChunkScores& chunks) {
  eval::Scores all;
  for (const auto& [key, scores] : chunks) {
    Append(scores->probabilities, &all.probabilities);
    Append(scores->unmasked, &all.unmasked);
    Append(scores->labels, &all.labels);
  }
  const eval::Metrics metrics = eval::ComputeMetrics(all.probabilities, all.labels);
  v1::EvaluationReport report;
  report.set_samples(static_cast<uint64_t>(metrics.samples));
  report.set_positives(static_cast<uint64_t>(metrics.positives));
  report.set_logloss(metrics.logloss);
  report.set_auc(metrics.auc);
  report.set_accuracy(metrics.accuracy);
  report.set_normalized_entropy(metrics.normalized_entropy);
  report.set_calibration(metrics.calibration);
  if (all.unmasked.empty() || all.unmasked.size() != all.labels.size()) return report;
  const eval::Metrics unmasked = eval::ComputeMetrics(all.unmasked, all.labels);
  report.set_unmasked_logloss(unmasked.logloss);
  report.set_unmasked_auc(unmasked.auc);
  return report;
}

}  // namespace weir::cluster
