#include "common/metrics/metrics_log.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "common/base/file_writer.h"
#include "common/base/strings.h"
#include "common/metrics/report.h"

namespace weir::metrics {
namespace {

using Json = nlohmann::ordered_json;

// What happened since `last`. A trainer that left can make a total shrink; the interval then has no
// defined figure rather than a huge one.
double Increase(uint64_t now, uint64_t last) {
  return now < last ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(now - last);
}

Json BytesJson(const v1::WorkerReport& total) {
  const v1::KindBytes bytes = WireBytes(total);
  return {{"push", bytes.push()},         {"pull", bytes.pull()},
          {"row_push", bytes.row_push()}, {"row_pull", bytes.row_pull()},
          {"forward", bytes.forward()},   {"backward", bytes.backward()},
          {"control", bytes.control()},   {"evaluation", bytes.evaluation()},
          {"total", TotalBytes(bytes)}};
}

Json LayersJson(const v1::WorkerReport& total, const v1::WorkerReport& last) {
  std::unordered_map<std::string, const v1::LayerReport*> before;
  for (const v1::LayerReport& layer : last.layers()) before[layer.name()] = &layer;
  Json layers = Json::array();
  for (const v1::LayerReport& layer : total.layers()) {
    const auto found = before.find(layer.name());
    const v1::LayerReport& old =
        found == before.end() ? v1::LayerReport::default_instance() : *found->second;
    const double possible =
        static_cast<double>(layer.elements()) * Increase(layer.steps(), old.steps());
    Json entry = {
        {"name", layer.name()},
        {"density", Ratio(Increase(layer.elements_sent(), old.elements_sent()), possible)}};
    entry["threshold"] = layer.has_threshold() ? Json(layer.threshold()) : Json(nullptr);
    entry["residual_norm"] =
        layer.has_residual_norm() ? Json(layer.residual_norm()) : Json(nullptr);
    layers.push_back(std::move(entry));
  }
  return layers;
}

Json SplitsJson(const v1::WorkerReport& total) {
  Json splits = Json::array();
  for (const v1::SplitReport& split : total.splits()) {
    const Json threshold = split.has_threshold() ? Json(split.threshold()) : Json(nullptr);
    splits.push_back({{"after", split.after()}, {"threshold", threshold}});
  }
  return splits;
}

Json SecondsSinceJson(const v1::WorkerReport& total, const v1::WorkerReport& last) {
  std::unordered_map<std::string, double> before;
  for (const v1::StageTime& time : last.stage_times()) before[time.name()] = time.seconds();
  Json times = Json::object();
  for (const v1::StageTime& time : total.stage_times()) {
    const double seconds = time.seconds() - before[time.name()];
    times[time.name()] = seconds < 0 ? std::numeric_limits<double>::quiet_NaN() : seconds;
  }
  return times;
}

}  // namespace

Result<std::unique_ptr<MetricsLog>> MetricsLog::Claim(const std::string& directory) {
  WEIR_ASSIGN_OR_RETURN(DirectoryLock lock, DirectoryLock::Take(directory));
  std::unique_ptr<MetricsLog> log(new MetricsLog(std::move(lock), directory + "/metrics.jsonl"));
  const bool is_there = access(log->path_.c_str(), F_OK) == 0;
  if (access(directory.c_str(), W_OK) != 0) return CannotWrite(directory);
  if (is_there) WEIR_RETURN_IF_ERROR(log->OpenFile(std::ios::app));  // says what is wrong with it
  log->file_.close();
  return log;
}

Result<std::unique_ptr<MetricsLog>> MetricsLog::Open(const std::string& directory) {
  WEIR_ASSIGN_OR_RETURN(auto log, Claim(directory));
  WEIR_RETURN_IF_ERROR(log->Begin());
  return log;
}

Status MetricsLog::Begin() { return OpenFile(std::ios::trunc); }

Status MetricsLog::GoOn() {
  uintmax_t whole_bytes = 0;  // a process that was killed may have left half a line
  std::ifstream lines(path_, std::ios::binary);
  for (std::string line; std::getline(lines, line) && !lines.eof();) {
    whole_bytes += line.size() + 1;
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    evaluations_ += json.is_object() && json.contains("kind") && json["kind"] == "test" ? 1 : 0;
  }
  lines.close();
  knows_last_ = whole_bytes == 0;
  WEIR_RETURN_IF_ERROR(OpenFile(std::ios::app));
  std::error_code error;
  if (!std::filesystem::is_regular_file(path_, error)) return OkStatus();
  std::filesystem::resize_file(path_, whole_bytes, error);
  if (!error) return OkStatus();
  return Unavailable(StrCat("cannot write ", path_, ": ", error.message()));
}

Status MetricsLog::OpenFile(std::ios::openmode mode) {
  errno = 0;
  file_.open(path_, std::ios::binary | mode);
  return file_ ? OkStatus() : CannotWrite(path_);
}

Status MetricsLog::WriteTrain(double seconds, const v1::WorkerReport& total,
                              uint64_t total_samples) {
  if (!std::exchange(knows_last_, true)) {
    last_ = total;
    last_seconds_ = seconds;
  }
  const double samples = Increase(total.samples(), last_.samples());
  const Json line = {
      {"kind", "train"},
      {"seconds", seconds},
      {"samples", total.samples()},
      {"total_samples", total_samples},
      {"steps", total.steps()},
      {"samples_per_second", Ratio(samples, seconds - last_seconds_)},
      {"logloss", Ratio(total.logloss_sum() - last_.logloss_sum(), samples)},
      {"bytes", BytesJson(total)},
      {"layers", LayersJson(total, last_)},
      {"splits", SplitsJson(total)},
      {"stages_time", SecondsSinceJson(total, last_)},
  };
  last_seconds_ = seconds;
  last_ = total;
  return WriteLine(line.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Status MetricsLog::WriteTest(double seconds, const v1::EvaluationReport& test) {
  Json line = {
      {"kind", "test"},
      {"seconds", seconds},
      {"samples", test.at_samples()},
      {"test_samples", test.samples()},
      {"logloss", test.logloss()},
      {"auc", test.auc()},
      {"accuracy", test.accuracy()},
      {"normalized_entropy", test.normalized_entropy()},
      {"calibration", test.calibration()},
      {"test_seconds", test.seconds()},
  };
  if (test.has_unmasked_logloss()) {
    line["unmasked"] = {{"logloss", test.unmasked_logloss()}, {"auc", test.unmasked_auc()}};
  }
  return WriteLine(line.dump());
}

Status MetricsLog::WriteCheckpoint(double seconds, const Checkpoint& checkpoint) {
  const Json line = {
      {"kind", "checkpoint"},
      {"seconds", seconds},
      {"samples", checkpoint.samples},
      {"number", checkpoint.number},
      {"stood_still_seconds", checkpoint.stood_still_seconds},
  };
  return WriteLine(line.dump());
}

Status MetricsLog::WriteLine(const std::string& line) {
  errno = 0;
  file_ << line << '\n' << std::flush;
  return file_ ? OkStatus() : CannotWrite(path_);
}

}  // namespace weir::metrics
