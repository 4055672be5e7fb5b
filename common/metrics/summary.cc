#include "common/metrics/summary.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "common/base/file_writer.h"
#include "common/base/strings.h"
#include "common/metrics/bounded.h"
#include "common/metrics/histogram.h"
#include "common/metrics/report.h"
#include "common/metrics/schedule_plan.h"

namespace weir::metrics {
namespace {

using Json = nlohmann::ordered_json;

// nlohmann writes NaN and infinities as null.
constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

Json TrainJson(const v1::RunReport& report) {
  const v1::WorkerReport& total = report.total();
  const auto samples = static_cast<double>(report.samples());
  return {
      {"samples", report.samples()},
      {"seconds", report.train_seconds()},
      {"samples_per_second", Ratio(samples, report.train_seconds())},
      {"steps", total.steps()},
      {"logloss", Ratio(total.logloss_sum(), static_cast<double>(total.samples()))},
      {"lines", total.lines()},
      {"malformed_lines", total.malformed_lines()},
  };
}

Json TestJson(const v1::RunReport& report) {
  const v1::EvaluationReport& test = report.test();
  const auto figure = [&](double value) { return test.samples() == 0 ? kUndefined : value; };
  Json json = {
      {"samples", test.samples()},
      {"logloss", figure(test.logloss())},
      {"auc", figure(test.auc())},
      {"accuracy", figure(test.accuracy())},
      {"normalized_entropy", figure(test.normalized_entropy())},
      {"calibration", figure(test.calibration())},
      {"seconds", test.seconds()},
  };
  if (test.has_unmasked_logloss()) {
    json["unmasked"] = {{"logloss", test.unmasked_logloss()}, {"auc", test.unmasked_auc()}};
  }
  if (report.has_bayes_logloss()) json["bayes_logloss"] = report.bayes_logloss();
  return json;
}

Json WireJson(const v1::WorkerReport& total) {
  const v1::KindBytes bytes = WireBytes(total);
  const v1::KindBytes& dense = total.dense();
  return {
      {"push_bytes", bytes.push()},         {"push_bytes_dense", dense.push()},
      {"pull_bytes", bytes.pull()},         {"pull_bytes_dense", dense.pull()},
      {"row_push_bytes", bytes.row_push()}, {"row_push_bytes_dense", dense.row_push()},
      {"row_pull_bytes", bytes.row_pull()}, {"row_pull_bytes_dense", dense.row_pull()},
      {"forward_bytes", bytes.forward()},   {"forward_bytes_dense", dense.forward()},
      {"backward_bytes", bytes.backward()}, {"backward_bytes_dense", dense.backward()},
      {"control_bytes", bytes.control()},   {"evaluation_bytes", bytes.evaluation()},
      {"total_bytes", TotalBytes(bytes)},
  };
}

Json TotalLayersJson(const v1::WorkerReport& total) {
  Json layers = Json::array();
  for (const v1::LayerReport& layer : total.layers()) {
    const auto steps = static_cast<double>(layer.steps());
    layers.push_back({
        {"name", layer.name()},
        {"policy", layer.policy()},
        {"elements", layer.elements()},
        {"density", Density(layer)},
        {"bytes_per_step", Ratio(static_cast<double>(layer.bytes()), steps)},
        {"threshold", layer.has_threshold() ? layer.threshold() : kUndefined},
        {"share_without_credit", Ratio(static_cast<double>(layer.steps_without_credit()), steps)},
        {"discarded_l1", layer.discarded_l1()},
        {"encode_seconds", layer.encode_seconds()},
        {"age_p50", layer.age_p50()},
        {"age_p99", layer.age_p99()},
        {"residual_norm", layer.has_residual_norm() ? layer.residual_norm() : kUndefined},
    });
  }
  return layers;
}

Json TotalSplitsJson(const v1::WorkerReport& total) {
  Json splits = Json::array();
  for (const v1::SplitReport& split : total.splits()) {
    const auto elements = static_cast<double>(split.elements());
    splits.push_back({
        {"after", split.after()},
        {"policy", split.policy()},
        {"elements", split.elements()},
        {"density", Ratio(static_cast<double>(split.elements_sent()), elements)},
        {"forward_bytes", split.forward_bytes()},
        {"backward_bytes", split.backward_bytes()},
        {"forward_link_bytes", split.forward_link_bytes()},
        {"backward_link_bytes", split.backward_link_bytes()},
        {"threshold", split.has_threshold() ? split.threshold() : kUndefined},
    });
  }
  return splits;
}

// Ages are in steps of a worker. Shares without anything to share are null.
Json RowsJson(const v1::WorkerReport& total) {
  const v1::RowReport& rows = total.rows();
  const auto ratio = [](uint64_t part, uint64_t whole) {
    return Ratio(static_cast<double>(part), static_cast<double>(whole));
  };
  return {
      {"gradients", rows.gradients()},
      {"sent", rows.sent()},
      {"sent_for_age", rows.sent_for_age()},
      {"mean_kept_steps", ratio(rows.kept_steps(), rows.sent())},
      {"discarded_l1", rows.discarded_l1()},
      {"waiting", rows.waiting()},
      {"encode_seconds", rows.encode_seconds()},
      {"cache_lookups", rows.cache_lookups()},
      {"cache_hit_rate", ratio(rows.cache_hits(), rows.cache_lookups())},
      {"cache_mean_age_steps", ratio(rows.cache_age_steps(), rows.cache_hits())},
  };
}

Json StalenessJson(const v1::WorkerReport& total) {
  const Result<Histogram> staleness = Histogram::FromProto(total.staleness());
  if (!staleness.ok() || staleness->count() == 0) {
    return {{"p50", nullptr}, {"p99", nullptr}, {"max", nullptr}};
  }
  return {{"p50", staleness->Quantile(0.5)},
          {"p99", staleness->Quantile(0.99)},
          {"max", staleness->max()}};
}

Json StagesTimeJson(const v1::WorkerReport& total) {
  Json times = Json::object();
  for (const v1::StageTime& time : total.stage_times()) times[time.name()] = time.seconds();
  return times;
}

Json RecoveryJson(const v1::RunReport& report) {
  return {
      {"server_restarts", report.server_restarts()},
      {"replayed_pushes", report.total().replayed_pushes()},
      {"reconnects", report.total().reconnects()},
  };
}

Json RunJson(const v1::RunReport& report, const std::string& commit) {
  return {
      {"commit", commit},
      {"mode", report.mode()},
      {"servers", report.servers()},
      {"trainers", report.trainers()},
      {"stages", report.stages()},
      {"threads", report.threads()},
      {"device", report.device()},
      {"seed", report.seed()},
      {"config_hash", report.config_hash()},
  };
}

Json ResultsJson(const v1::RunReport& report) {
  return {
      {"train", TrainJson(report)},
      {"test", TestJson(report)},
      {"wire", WireJson(report.total())},
      {"layers", TotalLayersJson(report.total())},
      {"rows", RowsJson(report.total())},
      {"splits", TotalSplitsJson(report.total())},
      {"staleness", StalenessJson(report.total())},
      {"stages_time", StagesTimeJson(report.total())},
      {"schedule_plan", SchedulePlanJson(report.total())},
      {"recovery", RecoveryJson(report)},
      {"bounded", BoundedJson(report)},
      {"warnings", Json(report.warnings())},
  };
}

}  // namespace

std::string SummaryJson(const v1::RunReport& report, const std::string& commit) {
  Json summary = RunJson(report, commit);
  summary.update(ResultsJson(report));
  // Names may come from peers: what is not UTF-8 is replaced instead of thrown at.
  return summary.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status WriteSummary(const std::string& directory, const v1::RunReport& report,
                    const std::string& commit) {
  return ReplaceFile(directory + "/summary.json", SummaryJson(report, commit));
}

}  // namespace weir::metrics
