#include "common/schedule/step_times.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/check.h"

namespace weir::schedule {
namespace {

// Two processes on one core get in each other's way by 2; more is noise.
constexpr double kLargestSlowdown = 4;

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double SumBehindFirst(const std::vector<double>& values) {
  return values.empty() ? 0 : Sum(values) - values.front();
}

// `work` seconds took `elapsed` while messages were under way for `sending` of those.
double Slowdown(double work, double elapsed, double sending) {
  const double overlap = std::min(elapsed, sending), lost = elapsed - work;
  if (lost <= 0 || overlap <= 0) return 1;
  return std::min(kLargestSlowdown, overlap / std::max(overlap - lost, overlap / kLargestSlowdown));
}

}  // namespace

double TypicalSeconds(std::vector<double> seconds, Objective objective) {
  if (seconds.empty()) return 0;
  if (objective == Objective::kStep) return Median(std::move(seconds));
  const double limit = 10 * Median(seconds);
  std::erase_if(seconds, [limit](double s) { return s > limit; });
  return Sum(seconds) / static_cast<double>(seconds.size());
}

StepTimes::StepTimes(std::vector<int64_t> element_counts)
    : element_counts_(std::move(element_counts)) {
  single_.layer_seconds.resize(element_counts_.size());
  separate_.layer_seconds.resize(element_counts_.size());
}

void StepTimes::Add(MeasuredStep step) {
  CHECK_EQ(step.layer_seconds.size(), element_counts_.size());
  Kind& kind = step.is_single ? single_ : separate_;
  ++kind.steps;
  if (step.is_single) single_seconds_.push_back(step.seconds);
  for (size_t i = 0; i < element_counts_.size(); ++i) {
    kind.layer_seconds[i].push_back(step.layer_seconds[i]);
  }
  selections_.insert(selections_.end(), step.selections.begin(), step.selections.end());
}

size_t StepTimes::count() const { return std::min(single_.steps, separate_.steps); }

std::vector<double> StepTimes::LayerSeconds(const Kind& kind) const {
  std::vector<double> seconds;
  for (const auto& of_layer : kind.layer_seconds) seconds.push_back(Median(of_layer));
  return seconds;
}

double StepTimes::MessageSecondsBeforeTheLast(const Costs& costs) const {
  double seconds = 0;
  for (size_t i = 0; i + 1 < element_counts_.size(); ++i) {
    seconds += PushOf(costs, 0, element_counts_[i]).message_seconds;
  }
  return seconds;
}

double StepTimes::ForwardSeconds(const Costs& costs, Objective objective) const {
  const int64_t total = std::accumulate(element_counts_.begin(), element_counts_.end(), int64_t{0});
  const Push all = PushOf(costs, 0, total);
  double known = all.selection_seconds;
  for (const Layer& layer : costs.layers) known += layer.backward_seconds;
  // A step that does not wait loses a part of what messages take, which its seconds have as well.
  const double messages = all.message_seconds + costs.fixed_message_seconds;
  known += objective == Objective::kStep ? messages : (1 - 1 / costs.sending_slowdown) * messages;
  return std::max(0.0, TypicalSeconds(single_seconds_, objective) - known);
}

Costs StepTimes::Fit(const MessageTimes& messages, Objective objective) const {
  CHECK_GT(count(), 0u);
  Costs costs;
  costs.startup_seconds = messages.of_bytes.base_seconds;
  costs.element_seconds = messages.of_bytes.each_seconds * messages.bytes_per_element;
  costs.fixed_message_seconds = messages.of_bytes.each_seconds * messages.fixed_bytes;
  const std::vector<double> alone = LayerSeconds(single_), beside = LayerSeconds(separate_);
  for (size_t i = 0; i < element_counts_.size(); ++i) {
    costs.layers.push_back(
        {.backward_seconds = i == 0 ? 0 : alone[i], .element_count = element_counts_[i]});
  }
  costs.sending_slowdown =
      Slowdown(SumBehindFirst(alone), SumBehindFirst(beside), MessageSecondsBeforeTheLast(costs));
  const Line selection = FitMedians(selections_);
  costs.selection_seconds = [selection](int64_t count) { return selection.Seconds(count); };
  costs.forward_seconds = ForwardSeconds(costs, objective);
  return costs;
}

}  // namespace weir::schedule
