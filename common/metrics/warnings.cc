#include "common/metrics/warnings.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "common/metrics/base_rate.h"
#include "common/metrics/bounded.h"
#include "common/metrics/collapse.h"
#include "common/metrics/report.h"

namespace weir::metrics {
namespace {

// Below so many rows, chance alone may do what a check looks for.
constexpr uint64_t kFewRows = 100;

struct Run {
  const RunRecord& record;
  const v1::RunReport& report;

  const v1::WorkerReport& total() const { return report.total(); }
};

using Warnings = std::vector<std::string>;

std::string Percent(uint64_t part, uint64_t whole) {
  return Format("%.3g %%", 100 * Ratio(static_cast<double>(part), static_cast<double>(whole)));
}

// Of as many workers as a run has, each may say something else, and none is believed to be brief.
void RepeatNotices(const Run& run, Warnings* warnings) {
  constexpr int kMost = 20;
  const auto& notices = run.total().notices();
  for (int i = 0; i < std::min(notices.size(), kMost); ++i) warnings->push_back(notices[i]);
  if (notices.size() > kMost) {
    warnings->push_back(StrCat(notices.size() - kMost, " more such warnings are in workers' logs"));
  }
}

void CheckColumns(const Run& run, Warnings* warnings) {
  for (const v1::LargeColumnReport& column : run.total().large_columns()) {
    warnings->push_back(Describe(column));
  }
}

void CheckTrainingLoss(const Run& run, Warnings* warnings) {
  // What a model that knows nothing begins with is no divergence, nor is a worse guess.
  constexpr double kUsual = 1;
  const double rate = BaseRate(run.total());
  const double base = LoglossOfConstant(rate, rate);
  const double loss = Ratio(run.total().logloss_sum(), static_cast<double>(run.total().samples()));
  if (!PredictsProbabilities(run.record.config.model().loss())) return;
  if (run.total().labels().rows() < kFewRows || !(loss > std::max(kUsual, 2 * base))) return;
  warnings->push_back(StrCat(
      "the training logloss, ", Format("%.4g", loss), ", is far above ", Format("%.4f", base),
      ", what predicting the mean label for every row gives: training diverged; use smaller "
      "learning rates (update), and a transform for a column of large values"));
}

void CheckTestLoss(const Run& run, Warnings* warnings) {
  const v1::EvaluationReport& test = run.report.test();
  if (test.samples() < kFewRows || run.total().labels().rows() < kFewRows) return;
  if (test.positives() == 0 || test.positives() >= test.samples()) return;
  if (!PredictsProbabilities(run.record.config.model().loss())) return;
  const double test_rate =
      static_cast<double>(test.positives()) / static_cast<double>(test.samples());
  const double base = LoglossOfConstant(BaseRate(run.total()), test_rate);
  if (!(test.logloss() > kHardlyBetter * base)) return;
  std::string text =
      StrCat("the test logloss, ", Format("%.4f", test.logloss()), ", is no better than ",
             Format("%.4f", base), ", what predicting the mean label of the training rows, ",
             Format("%.4g", BaseRate(run.total())), ", for every test row gives: ");
  constexpr double kRanks = 0.55;
  text += test.auc() > kRanks
              ? StrCat("it tells rows apart (AUC ", Format("%.4f", test.auc()),
                       "), but its probabilities are off; it was trained for too long, or the test "
                       "rows are of another kind than those to train on")
              : "the model has learned nothing that holds for the test rows; look at the columns, "
                "their transforms, the labels, and the learning rates (update)";
  warnings->push_back(std::move(text));
}

// "negative label, 0" if all rows have it, or the other; empty when there are both, or no rows.
std::string OnlyLabel(uint64_t positives, uint64_t rows) {
  if (rows == 0 || (positives > 0 && positives < rows)) return "";
  return positives == 0 ? "negative label, 0" : "positive label, 1";
}

void CheckTestLabels(const Run& run, Warnings* warnings) {
  const v1::EvaluationReport& test = run.report.test();
  const std::string label = OnlyLabel(test.positives(), test.samples());
  if (label.empty()) return;
  warnings->push_back(StrCat("the AUC is undefined: all ", test.samples(), " test rows have the ",
                             label,
                             "; test on rows of both, and see that the reader knows their labels"));
}

void CheckTrainingLabels(const Run& run, Warnings* warnings) {
  const v1::LabelReport& labels = run.total().labels();
  const std::string label = OnlyLabel(labels.positives(), labels.rows());
  if (label.empty() || labels.rows() < kFewRows) return;
  warnings->push_back(
      StrCat("all ", labels.rows(), " rows that were trained have the ", label,
             ", so there was nothing to learn; train on rows of both, and see that the reader "
             "knows their labels"));
}

// Labels of a group are alike by nearly this share of what they could be: the correlation within
// groups, 0 by chance, 1 where each group has one label.
void CheckLabelOrder(const Run& run, Warnings* warnings) {
  constexpr double kSorted = 0.5;
  constexpr uint64_t kFewGroups = 8;
  const v1::LabelReport& labels = run.total().labels();
  const double rate = BaseRate(run.total());
  if (labels.groups() < kFewGroups || !(rate > 0 && rate < 1)) return;
  const auto size = static_cast<double>(kLabelGroupRows);
  const double mean = size * rate;
  const double variance =
      static_cast<double>(labels.squared_positives()) / static_cast<double>(labels.groups()) -
      mean * mean;
  const double by_chance = size * rate * (1 - rate);
  const double alike = (variance / by_chance - 1) / (size - 1);
  if (!(alike > kSorted)) return;
  warnings->push_back(StrCat(
      "rows to train on are sorted by their label: within ", kLabelGroupRows,
      " rows in a row, labels are alike by ", Format("%.2f", alike),
      " (0 is chance, 1 is sorted), and what is learned from one label is forgotten with the "
      "other; shuffle the file, with shuf for example, its header apart (data.shuffle shuffles "
      "within chunks alone)"));
}

// What a model shows that fell apart, told once. A late loss alone is not, where the loss of the
// whole run or the test's is.
void CheckCollapse(const Run& run, Warnings* warnings) {
  const v1::Config& config = run.record.config;
  const std::string dead = DescribeDeadUnits(run.total());
  const std::string thin = DescribeThinAnswers(run.total());
  const std::string burst = DescribeBurst(config, run.total());
  const std::string late = DescribeLateLoss(config, run.total());
  if (dead.empty() && thin.empty() && burst.empty()) {
    Warnings told;
    CheckTrainingLoss(run, &told);
    CheckTestLoss(run, &told);
    if (!told.empty()) return;
  }
  std::string signs;
  for (const std::string& sign : {dead, thin, burst, late}) {
    if (!sign.empty()) signs += StrCat(signs.empty() ? "" : "; ", sign);
  }
  if (signs.empty()) return;
  warnings->push_back(StrCat(
      signs, ": ",
      dead.empty() && thin.empty() ? "the model learned nothing there, or lost what it had"
                                   : "that part of the model learns nothing any more",
      "; use a smaller learning rate or a longer warm-up (update.dense), or fewer batches at work "
      "at once (cluster.concurrency_warmup_steps, cluster.max_concurrency)"));
}

void CheckWarmup(const Run& run, Warnings* warnings) {
  const uint64_t steps = run.total().steps();
  if (steps == 0 || run.record.goes_on) return;  // its schedule may have begun in another run
  const v1::UpdateConfig& update = run.record.config.update();
  for (const auto& [name, rule] : {std::pair("dense", &update.dense()), {"rows", &update.rows()}}) {
    const auto warmup = static_cast<uint64_t>(rule->schedule().warmup_steps());
    if (warmup <= 1 || 2 * warmup <= steps) continue;
    warnings->push_back(StrCat(
        "the learning rate of update.", name, " rises for ", warmup, " steps, and the run had ",
        steps, warmup > steps ? ": it never was what it is set to" : ": it did so for most of it",
        "; set update { ", name, " { schedule { warmup_steps: ", steps / 10, " } } }"));
  }
}

// The step from which on the rate is 0; nothing: it never is.
std::optional<int64_t> EndOf(const v1::LearningRateSchedule& schedule) {
  if (schedule.has_cosine() && schedule.cosine().end() == 0) {
    return schedule.decay_start() + schedule.cosine().steps();
  }
  if (schedule.has_polynomial() && schedule.polynomial().end() == 0) {
    return schedule.decay_start() + schedule.polynomial().steps();
  }
  return std::nullopt;
}

// Schedules count what came to the servers; a step without credit may have sent nothing.
int64_t PushedSteps(const Run& run) {
  uint64_t kept = 0;
  for (const v1::LayerReport& layer : run.total().layers()) {
    kept = std::max(kept, layer.steps_without_credit());
  }
  return static_cast<int64_t>(run.total().steps()) - static_cast<int64_t>(kept);
}

void CheckScheduleEnd(const Run& run, Warnings* warnings) {
  constexpr double kSpared =
      0.05;  // of a run: steps of partial batches, and those of other threads
  const int64_t steps = PushedSteps(run);
  if (run.record.goes_on) return;  // its schedule may have begun in another run
  const v1::UpdateConfig& update = run.record.config.update();
  for (const auto& [name, rule] : {std::pair("dense", &update.dense()), {"rows", &update.rows()}}) {
    const auto end = EndOf(rule->schedule());
    if (!end || static_cast<double>(steps - *end) <= kSpared * static_cast<double>(steps)) continue;
    warnings->push_back(StrCat("the learning rate of update.", name, " was 0 for the last ",
                               steps - *end, " of ", steps,
                               " steps, which taught nothing; set the steps of its schedule to ",
                               steps - rule->schedule().decay_start(), ", or train fewer epochs"));
  }
}

void CheckBestEvaluation(const Run& run, Warnings* warnings) {
  const auto evaluations = run.record.evaluations;
  if (evaluations.size() < 3) return;
  const auto best = std::ranges::min_element(
      evaluations, {}, [](const v1::EvaluationReport& each) { return each.logloss(); });
  const v1::EvaluationReport& last = evaluations.back();
  // The same rows each time, so that this is more than twice what chance does to the difference.
  const double noise = last.logloss() / std::sqrt(static_cast<double>(last.samples()));
  if (evaluations.end() - best < 3 || !(last.logloss() > best->logloss() + noise)) return;
  warnings->push_back(StrCat("the test logloss was best, ", Format("%.4f", best->logloss()),
                             ", after ", best->at_samples(), " samples, and is ",
                             Format("%.4f", last.logloss()), " after ", last.at_samples(),
                             ": from there on the model learned its training rows by heart; use "
                             "fewer data.epochs, smaller learning rates or a weight_decay"));
}

// Rows that a policy still keeps are not what training made of them.
void CheckTestValues(const Run& run, Warnings* warnings) {
  constexpr double kMost = 0.5;
  if (run.total().rows().sent() < run.total().rows().gradients()) return;
  for (const v1::TestValuesReport& table : run.total().test_values()) {
    const double share =
        Ratio(static_cast<double>(table.unseen()), static_cast<double>(table.values()));
    if (table.values() < kFewRows || !(share > kMost)) continue;
    warnings->push_back(StrCat(
        Percent(table.unseen(), table.values()), " of the values of column ", table.table(),
        " in the test rows have embedding rows that training never changed",
        table.example().empty() ? "" : StrCat(", that of ", table.example(), " for one"),
        ": they are new, or written otherwise than in the rows to train on, \"12.0\" for \"12\""));
  }
}

void CheckLines(const char* what, uint64_t malformed, uint64_t lines, const std::string& first,
                Warnings* warnings) {
  if (malformed == 0) return;
  warnings->push_back(StrCat(malformed, " of ", lines, " lines to ", what, " on (",
                             Percent(malformed, lines), ") are malformed and were passed over",
                             first.empty() ? "" : StrCat("; the first: ", first)));
}

void CheckMalformed(const Run& run, Warnings* warnings) {
  const v1::WorkerReport& total = run.total();
  CheckLines("train", total.malformed_lines(), total.lines(), total.first_malformed(), warnings);
  CheckLines("test", total.malformed_test_lines(), total.test_lines(), total.first_malformed_test(),
             warnings);
}

void CheckBounded(const Run& run, Warnings* warnings) {
  std::string bounded = DescribeBounded(run.report);
  if (!bounded.empty()) warnings->push_back(std::move(bounded));
}

}  // namespace

std::string Describe(const v1::LargeColumnReport& column) {
  return StrCat("column ", column.name(), " is large, from ", Format("%.4g", column.smallest()),
                " to ", Format("%.4g", column.largest()),
                " where the training files begin, and reaches the model as it is, which then "
                "learns little or diverges; give it standardise {}",
                column.smallest() >= 0 ? ", or log1p {} if it counts something" : "");
}

void AddWarnings(const RunRecord& record, v1::RunReport* report) {
  const Run run{record, *report};
  Warnings warnings;
  for (const auto& check :
       {RepeatNotices, CheckColumns, CheckTrainingLabels, CheckTrainingLoss, CheckTestLoss,
        CheckTestLabels, CheckLabelOrder, CheckCollapse, CheckWarmup, CheckScheduleEnd,
        CheckBestEvaluation, CheckTestValues, CheckMalformed, CheckBounded}) {
    check(run, &warnings);
  }
  report->mutable_warnings()->Assign(warnings.begin(), warnings.end());
}

}  // namespace weir::metrics
