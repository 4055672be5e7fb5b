#include "common/metrics/report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "common/base/strings.h"
#include "common/metrics/histogram.h"

namespace weir::metrics {
namespace {

// Of a thousand workers each may have noticed something else.
constexpr size_t kMostNotices = 100;

void AddBytes(const v1::KindBytes& from, v1::KindBytes* to) {
  to->set_push(to->push() + from.push());
  to->set_pull(to->pull() + from.pull());
  to->set_row_push(to->row_push() + from.row_push());
  to->set_row_pull(to->row_pull() + from.row_pull());
  to->set_forward(to->forward() + from.forward());
  to->set_backward(to->backward() + from.backward());
  to->set_control(to->control() + from.control());
  to->set_evaluation(to->evaluation() + from.evaluation());
}

// Sums layers and stage times by name. Names come from peers, hence a map rather than trust in
// their order.
class Merger {
 public:
  Status Add(const v1::WorkerReport& report) {
    AddCounters(report);
    for (const v1::LayerReport& layer : report.layers()) WEIR_RETURN_IF_ERROR(AddLayer(layer));
    for (const v1::StageTime& time : report.stage_times()) AddStageTime(time);
    for (const v1::SplitReport& split : report.splits()) AddSplit(split);
    AddFindings(report);
    for (const v1::DeadUnitsReport& units : report.dead_units()) AddDeadUnits(units);
    for (const v1::TestValuesReport& values : report.test_values()) AddTestValues(values);
    WEIR_ASSIGN_OR_RETURN(const Histogram staleness, Histogram::FromProto(report.staleness()));
    staleness_.Merge(staleness);
    return OkStatus();
  }

  v1::WorkerReport Take() {
    *total_.mutable_staleness() = staleness_.ToProto();
    for (v1::LayerReport& layer : *total_.mutable_layers()) {
      if (layer.has_threshold()) layer.set_threshold(layer.threshold() / ThresholdCount(layer));
      if (!layer.has_residual_norm()) continue;
      layer.set_residual_norm(std::sqrt(layer.residual_norm() / ResidualCount(layer)));
    }
    return std::move(total_);
  }

 private:
  void AddCounters(const v1::WorkerReport& report) {
    total_.set_samples(total_.samples() + report.samples());
    total_.set_steps(total_.steps() + report.steps());
    total_.set_logloss_sum(total_.logloss_sum() + report.logloss_sum());
    AddBytes(report.sent(), total_.mutable_sent());
    AddBytes(report.received(), total_.mutable_received());
    AddBytes(report.dense(), total_.mutable_dense());
    total_.set_lines(total_.lines() + report.lines());
    total_.set_malformed_lines(total_.malformed_lines() + report.malformed_lines());
    total_.set_reconnects(total_.reconnects() + report.reconnects());
    total_.set_replayed_pushes(total_.replayed_pushes() + report.replayed_pushes());
    AddRows(report.rows());
  }

  // What warnings are made of. A column is told of by whoever read the first chunk, and by one that
  // read it again in its place; what every worker notices is told once.
  void AddFindings(const v1::WorkerReport& report) {
    if (report.has_labels()) AddLabels(report.labels());
    if (report.has_training_parts()) AddTrainingParts(report.training_parts());
    if (report.has_answer_parts()) AddAnswerParts(report.answer_parts());
    if (report.has_schedule_plan() && !total_.has_schedule_plan()) {
      *total_.mutable_schedule_plan() = report.schedule_plan();
    }
    for (const v1::LargeColumnReport& column : report.large_columns()) {
      if (columns_.insert(column.name()).second) *total_.add_large_columns() = column;
    }
    for (const std::string& notice : report.notices()) {
      if (notices_.size() < kMostNotices && notices_.insert(notice).second) {
        total_.add_notices(notice);
      }
    }
    total_.set_test_lines(total_.test_lines() + report.test_lines());
    total_.set_malformed_test_lines(total_.malformed_test_lines() + report.malformed_test_lines());
    if (total_.first_malformed().empty()) total_.set_first_malformed(report.first_malformed());
    if (total_.first_malformed_test().empty()) {
      total_.set_first_malformed_test(report.first_malformed_test());
    }
  }

  void AddLabels(const v1::LabelReport& from) {
    v1::LabelReport& to = *total_.mutable_labels();
    to.set_rows(to.rows() + from.rows());
    to.set_positives(to.positives() + from.positives());
    to.set_groups(to.groups() + from.groups());
    to.set_squared_positives(to.squared_positives() + from.squared_positives());
  }

  void AddTrainingParts(const v1::TrainingPartsReport& from) {
    v1::TrainingPartsReport& to = *total_.mutable_training_parts();
    to.set_worst_samples(to.worst_samples() + from.worst_samples());
    to.set_worst_logloss_sum(to.worst_logloss_sum() + from.worst_logloss_sum());
    to.set_last_samples(to.last_samples() + from.last_samples());
    to.set_last_positives(to.last_positives() + from.last_positives());
    to.set_last_logloss_sum(to.last_logloss_sum() + from.last_logloss_sum());
  }

  void AddAnswerParts(const v1::AnswerPartsReport& from) {
    v1::AnswerPartsReport& to = *total_.mutable_answer_parts();
    to.set_first_bytes(to.first_bytes() + from.first_bytes());
    to.set_first_dense_bytes(to.first_dense_bytes() + from.first_dense_bytes());
    to.set_last_bytes(to.last_bytes() + from.last_bytes());
    to.set_last_dense_bytes(to.last_dense_bytes() + from.last_dense_bytes());
  }

  void AddDeadUnits(const v1::DeadUnitsReport& units) {
    constexpr size_t kMostLayers = 1000, kMostBytes = 200;
    const bool is_sound = units.units() > 0 && units.dead() <= units.units();
    if (!is_sound || units.bias().size() > kMostBytes) return;
    if (dead_units_indexes_.size() >= kMostLayers) return;
    const auto [entry, is_new] =
        dead_units_indexes_.emplace(units.bias(), total_.dead_units_size());
    if (is_new) total_.add_dead_units()->set_bias(units.bias());
    v1::DeadUnitsReport& sum = *total_.mutable_dead_units(entry->second);
    sum.set_units(sum.units() + units.units());
    sum.set_dead(sum.dead() + units.dead());
  }

  void AddTestValues(const v1::TestValuesReport& values) {
    const auto [entry, is_new] =
        test_values_indexes_.emplace(values.table(), total_.test_values_size());
    if (is_new) total_.add_test_values();
    v1::TestValuesReport& sum = *total_.mutable_test_values(entry->second);
    if (!is_new && values.evaluation() < sum.evaluation()) return;
    if (is_new || values.evaluation() > sum.evaluation()) {
      sum = values;
      return;
    }
    sum.set_values(sum.values() + values.values());
    sum.set_unseen(sum.unseen() + values.unseen());
    if (sum.example().empty()) sum.set_example(values.example());
  }

  void AddRows(const v1::RowReport& from) {
    v1::RowReport& to = *total_.mutable_rows();
    to.set_gradients(to.gradients() + from.gradients());
    to.set_sent(to.sent() + from.sent());
    to.set_sent_for_age(to.sent_for_age() + from.sent_for_age());
    to.set_kept_steps(to.kept_steps() + from.kept_steps());
    to.set_discarded_l1(to.discarded_l1() + from.discarded_l1());
    to.set_cache_lookups(to.cache_lookups() + from.cache_lookups());
    to.set_cache_hits(to.cache_hits() + from.cache_hits());
    to.set_cache_age_steps(to.cache_age_steps() + from.cache_age_steps());
    to.set_waiting(to.waiting() + from.waiting());
    to.set_encode_seconds(to.encode_seconds() + from.encode_seconds());
  }

  Status AddLayer(const v1::LayerReport& layer) {
    const auto [entry, is_new] = layer_indexes_.emplace(layer.name(), total_.layers_size());
    if (is_new) {
      v1::LayerReport& first = *total_.add_layers();
      first = layer;
      first.clear_threshold();
      first.clear_residual_norm();
      AddMeans(layer, &first);
      return OkStatus();
    }
    v1::LayerReport& sum = *total_.mutable_layers(entry->second);
    if (sum.elements() != layer.elements()) {
      return InvalidData(StrCat("workers disagree about layer ", layer.name(), ": it has ",
                                sum.elements(), " elements in one report and ", layer.elements(),
                                " in another"));
    }
    if (sum.policy() != layer.policy()) sum.set_policy(kMixedPolicy);
    AddCounts(layer, &sum);
    AddMeans(layer, &sum);
    return OkStatus();
  }

  static void AddCounts(const v1::LayerReport& layer, v1::LayerReport* sum) {
    sum->set_elements_sent(sum->elements_sent() + layer.elements_sent());
    sum->set_steps(sum->steps() + layer.steps());
    sum->set_steps_without_credit(sum->steps_without_credit() + layer.steps_without_credit());
    sum->set_bytes(sum->bytes() + layer.bytes());
    sum->set_discarded_l1(sum->discarded_l1() + layer.discarded_l1());
    sum->set_encode_seconds(sum->encode_seconds() + layer.encode_seconds());
    sum->set_age_p50(std::max(sum->age_p50(), layer.age_p50()));
    sum->set_age_p99(std::max(sum->age_p99(), layer.age_p99()));
  }

  // Of workers that have one. Until the sum is taken `threshold` is theirs, added up, and
  // `residual_norm` their squares.
  static void AddMeans(const v1::LayerReport& layer, v1::LayerReport* sum) {
    if (layer.has_threshold()) AddThreshold(layer, sum);
    if (layer.has_residual_norm()) AddResidual(layer, sum);
  }
  static double ThresholdCount(const v1::LayerReport& layer) {
    return std::max(1.0, static_cast<double>(layer.threshold_workers()));
  }
  static void AddThreshold(const v1::LayerReport& layer, v1::LayerReport* sum) {
    const double count = ThresholdCount(layer);
    const double before = sum->has_threshold() ? static_cast<double>(sum->threshold_workers()) : 0;
    sum->set_threshold(sum->threshold() + layer.threshold() * count);
    sum->set_threshold_workers(static_cast<uint64_t>(before + count));
  }

  static double ResidualCount(const v1::LayerReport& layer) {
    return std::max(1.0, static_cast<double>(layer.residual_workers()));
  }
  static void AddResidual(const v1::LayerReport& layer, v1::LayerReport* sum) {
    const double count = ResidualCount(layer), norm = layer.residual_norm();
    const double before =
        sum->has_residual_norm() ? static_cast<double>(sum->residual_workers()) : 0;
    sum->set_residual_norm(sum->residual_norm() + norm * norm * count);
    sum->set_residual_workers(static_cast<uint64_t>(before + count));
  }

  void AddStageTime(const v1::StageTime& time) {
    const auto [entry, is_new] = stage_indexes_.emplace(time.name(), total_.stage_times_size());
    if (is_new) total_.add_stage_times()->set_name(time.name());
    v1::StageTime& sum = *total_.mutable_stage_times(entry->second);
    sum.set_seconds(sum.seconds() + time.seconds());
  }

  void AddSplit(const v1::SplitReport& split) {
    const auto [entry, is_new] = split_indexes_.emplace(split.after(), total_.splits_size());
    if (is_new) {
      *total_.add_splits() = split;
      return;
    }
    v1::SplitReport& sum = *total_.mutable_splits(entry->second);
    if (sum.policy() != split.policy()) sum.set_policy(kMixedPolicy);
    sum.set_elements(sum.elements() + split.elements());
    sum.set_elements_sent(sum.elements_sent() + split.elements_sent());
    sum.set_forward_bytes(sum.forward_bytes() + split.forward_bytes());
    sum.set_backward_bytes(sum.backward_bytes() + split.backward_bytes());
    sum.set_forward_link_bytes(sum.forward_link_bytes() + split.forward_link_bytes());
    sum.set_backward_link_bytes(sum.backward_link_bytes() + split.backward_link_bytes());
    if (split.has_threshold()) sum.set_threshold(split.threshold());  // of any trainer
  }

  v1::WorkerReport total_;
  Histogram staleness_;
  std::unordered_map<std::string, int> split_indexes_;
  std::unordered_map<std::string, int> test_values_indexes_;
  std::unordered_map<std::string, int> dead_units_indexes_;
  std::unordered_set<std::string> columns_, notices_;
  std::unordered_map<std::string, int> layer_indexes_;
  std::unordered_map<std::string, int> stage_indexes_;
};

}  // namespace

Result<v1::WorkerReport> MergeReports(std::span<const v1::WorkerReport> reports) {
  Merger merger;
  for (const v1::WorkerReport& report : reports) WEIR_RETURN_IF_ERROR(merger.Add(report));
  return merger.Take();
}

Result<v1::WorkerReport> MergeReports(const v1::WorkerReport& first,
                                      const v1::WorkerReport& second) {
  Merger merger;
  WEIR_RETURN_IF_ERROR(merger.Add(first));
  WEIR_RETURN_IF_ERROR(merger.Add(second));
  return merger.Take();
}

void ForgetGauges(v1::WorkerReport* report) {
  for (v1::LayerReport& layer : *report->mutable_layers()) {
    layer.clear_threshold();
    layer.clear_residual_norm();
  }
  for (v1::SplitReport& split : *report->mutable_splits()) split.clear_threshold();
  if (report->has_rows()) report->mutable_rows()->clear_waiting();
  report->clear_dead_units();
  report->clear_training_parts();
  report->clear_answer_parts();
  report->clear_schedule_plan();
}

v1::KindBytes WireBytes(const v1::WorkerReport& report) {
  v1::KindBytes bytes = report.sent();
  AddBytes(report.received(), &bytes);
  bytes.set_forward(report.sent().forward());
  bytes.set_backward(report.sent().backward());
  bytes.set_evaluation(report.sent().evaluation());
  return bytes;
}

uint64_t TotalBytes(const v1::KindBytes& bytes) {
  return bytes.push() + bytes.pull() + bytes.row_push() + bytes.row_pull() + bytes.forward() +
         bytes.backward() + bytes.control() + bytes.evaluation();
}

double Ratio(double numerator, double denominator) {
  return denominator > 0 ? numerator / denominator : std::numeric_limits<double>::quiet_NaN();
}

double Density(const v1::LayerReport& layer) {
  return Ratio(static_cast<double>(layer.elements_sent()),
               static_cast<double>(layer.elements()) * static_cast<double>(layer.steps()));
}

}  // namespace weir::metrics
