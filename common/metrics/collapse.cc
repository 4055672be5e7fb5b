#include "common/metrics/collapse.h"

#include <algorithm>
#include <cstdint>
#include <numbers>

#include "common/base/strings.h"
#include "common/metrics/base_rate.h"
#include "common/metrics/report.h"

namespace weir::metrics {
namespace {

// Of fewer, chance alone makes as much difference to a loss as a model that learns slowly.
constexpr uint64_t kFewLossRows = 2000;

double Share(uint64_t part, uint64_t whole) {
  return Ratio(static_cast<double>(part), static_cast<double>(whole));
}

std::string InPercent(double share) { return Format("%.3g %%", 100 * share); }

bool SendsEverything(const v1::WorkerReport& total) {
  return std::ranges::all_of(total.layers(),
                             [](const v1::LayerReport& layer) { return layer.policy() == "none"; });
}

}  // namespace

std::string DescribeDeadUnits(const v1::WorkerReport& total) {
  constexpr double kMany = 0.65;
  const auto share = [](const v1::DeadUnitsReport& units) {
    return Share(units.dead(), units.units());
  };
  const auto& layers = total.dead_units();
  const auto worst = std::ranges::max_element(layers, {}, share);
  if (worst == layers.end() || !(share(*worst) > kMany)) return "";
  return StrCat(InPercent(share(*worst)), " of the ReLUs with ", worst->bias(),
                " gave 0 for every row of the last steps");
}

std::string DescribeThinAnswers(const v1::WorkerReport& total) {
  constexpr double kThin = 0.5;  // of what there was
  // Of fewer steps a part is a few answers, and the first of all brings everything.
  constexpr uint64_t kFewSteps = 500;
  const v1::AnswerPartsReport& parts = total.answer_parts();
  if (total.steps() < kFewSteps || !SendsEverything(total)) return "";
  const double first = std::min(1.0, Share(parts.first_bytes(), parts.first_dense_bytes()));
  const double last = Share(parts.last_bytes(), parts.last_dense_bytes());
  if (!(last < kThin * first)) return "";
  return StrCat("of the MLPs' parameters ", InPercent(last),
                " changed from answer to answer in the end, and ", InPercent(first), " at first");
}

std::string DescribeBurst(const v1::Config& config, const v1::WorkerReport& total) {
  // What training begins with is an even guess, or near it.
  constexpr double kAbove = 1.2;
  const v1::TrainingPartsReport& parts = total.training_parts();
  const uint64_t rows = parts.worst_samples();
  if (!PredictsProbabilities(config.model().loss()) || rows < kFewLossRows) return "";
  const double loss = Ratio(parts.worst_logloss_sum(), static_cast<double>(rows));
  if (!(loss > kAbove * std::numbers::ln2)) return "";
  return StrCat("the training logloss was ", Format("%.4g", loss), " over ", rows,
                " rows, above the 0.6931 of an even guess");
}

std::string DescribeLateLoss(const v1::Config& config, const v1::WorkerReport& total) {
  const v1::TrainingPartsReport& parts = total.training_parts();
  const uint64_t rows = parts.last_samples(), positives = parts.last_positives();
  if (!PredictsProbabilities(config.model().loss()) || rows < kFewLossRows) return "";
  if (positives == 0 || positives >= rows) return "";
  const double loss = Ratio(parts.last_logloss_sum(), static_cast<double>(rows));
  const double base = LoglossOfConstant(BaseRate(total), Share(positives, rows));
  if (!(loss > kHardlyBetter * base)) return "";
  return StrCat("the training logloss of the last ", rows, " rows, ", Format("%.4f", loss),
                ", is no better than ", Format("%.4f", base),
                ", what predicting the mean label for every row gives");
}

}  // namespace weir::metrics
