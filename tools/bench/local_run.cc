#include "tools/bench/local_run.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/base/strings.h"
#include "common/saved_model/checkpoint_folder.h"
#include "tools/bench/program.h"
#include "tools/bench/temporary_folder.h"
#include "tools/local/metrics_tail.h"

namespace weir::bench {
namespace {

// Far above what any run of RunLocal takes; and a run of TrainUntil beyond its seconds of training.
constexpr double kGiveUpSeconds = 100;

constexpr double kLearned = 0.65;  // a model that does not learn stays at log 2

// A command, perhaps behind a link.
std::vector<std::string> Behind(const Link& link, std::vector<std::string> command) {
  if (link.name == nullptr) return command;
  const std::string script =
      StrCat("ip link set lo up && tc qdisc replace dev lo root tbf rate ", link.name, " burst ",
             link.burst, " latency 50ms && exec \"$@\"");
  command.insert(command.begin(), {"unshare", "--net", "sh", "-c", script, "sh"});
  return command;
}

std::string ConfigFiles(const LocalRun& run, const std::string& out) {
  std::vector<std::string> files;
  for (const std::string& file : StrSplit(run.config_files, ',')) {
    files.push_back(StrCat(SourceFolder(), "/configs/", file));
  }
  if (!run.more.empty()) {
    files.push_back(out + "/more.textproto");
    std::ofstream(files.back()) << run.more;  // weir-local says so if it is not there
  }
  return StrJoin(files, ",");
}

std::vector<std::string> Command(const LocalRun& run, const std::string& out) {
  const std::string override_text =
      StrCat("data { batch_size: ", run.batch_size, " synthetic { rows: ", run.rows,
             " test_rows: ", run.test_rows, " rows_per_table: ", run.table_rows,
             " } } compression { default { ", run.policy, " } row_cache { rows: ", run.cached_rows,
             " max_age: 1000000 } } cluster { concurrency_warmup_steps: 0 } run { "
             "evaluate_every_samples: ",  // at full
                                          // speed
             run.evaluate_every_samples, " }");
  std::vector<std::string> command = {BinaryFolder() + "/weir-local",
                                      "--config=" + ConfigFiles(run, out),
                                      "--override=" + override_text,
                                      StrCat("--servers=", run.servers),
                                      "--trainers=1",
                                      "--threads=1",
                                      "--device=" + run.device,
                                      "--out=" + out};
  if (run.keeps_log) command.push_back("--data_dir=" + out + "/data");
  if (!run.has_keys && run.servers > 0) command.emplace_back("--insecure");
  return Behind(run.link, std::move(command));
}

double BytesOfFolder(const std::string& folder) {
  double bytes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
    if (entry.is_regular_file()) bytes += static_cast<double>(entry.file_size());
  }
  return bytes;
}

// null: where there is none.
double NumberOr0(const nlohmann::json& value) {
  return value.is_number() ? value.get<double>() : 0.0;
}

std::vector<CheckpointStop> ReadStops(const std::string& out) {
  std::vector<CheckpointStop> stops;
  std::ifstream metrics(out + "/trainer-0/metrics.jsonl");
  for (std::string line; std::getline(metrics, line);) {
    const auto told = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!told.is_object() || told.value("kind", "") != "checkpoint") continue;
    const std::string checkpoint =
        saved_model::CheckpointPath(out + "/checkpoints", told.value("number", uint64_t{0}));
    stops.push_back(
        {.seconds = told.value("stood_still_seconds", 0.0), .bytes = BytesOfFolder(checkpoint)});
  }
  return stops;
}

// Follows the metrics of a run and says when it has shown enough.
class Watch {
 public:
  Watch(const std::string& out, double logloss, double seconds)
      : metrics_(out + "/trainer-0/metrics.jsonl"), logloss_(logloss), seconds_(seconds) {}

  bool IsOver() {
    for (const tools::MetricsRecord& record : metrics_.ReadNew()) {
      if (record.kind != "test" || !record.logloss || over_) continue;
      tests_.push_back({.seconds = record.seconds, .logloss = *record.logloss});
      over_ = *record.logloss <= logloss_ || record.seconds >= seconds_;
    }
    return over_;
  }
  const std::vector<TestPoint>& tests() const { return tests_; }

 private:
  tools::MetricsTail metrics_;
  const double logloss_, seconds_;
  std::vector<TestPoint> tests_;
  bool over_ = false;
};

}  // namespace

Result<LocalResult> ReadResult(const LocalRun& run, const std::string& out) {
  LocalResult result;
  std::ifstream summary_file(out + "/summary.json");
  auto summary = nlohmann::json::parse(summary_file, nullptr, /*allow_exceptions=*/false);
  if (!summary.contains("train")) return Internal("weir-local left no summary.json");
  if (summary["train"]["samples"] != run.rows) {
    return Internal(StrCat("weir-local trained ", summary["train"]["samples"].dump(), " of ",
                           run.rows, " rows"));
  }
  result.samples_per_second = summary["train"]["samples_per_second"];
  result.train_seconds = NumberOr0(summary["train"]["seconds"]);
  result.stops = ReadStops(out);
  result.cache_hit_rate = NumberOr0(summary["rows"]["cache_hit_rate"]);
  if (const double waiting = NumberOr0(summary["stages_time"]["device waiting"]); waiting > 0) {
    result.device_waiting_share = waiting / NumberOr0(summary["train"]["seconds"]);
  }
  // Guessing gives 0.57 or so on these rows, and a short run is not far below it; one that learns
  // nothing, or diverges, says nothing about speed.
  const nlohmann::json& logloss = summary["test"]["logloss"];  // null where there is none
  if (summary["test"]["samples"] == run.test_rows && logloss.is_number() && logloss < kLearned) {
    return result;
  }
  return Internal(StrCat("after ", run.rows, " rows with ", run.policy, " the logloss of ",
                         summary["test"]["samples"].dump(), " test rows is ", logloss.dump()));
}

Status CheckLinks() { return RunProgram({Behind({"1gbit"}, {"true"})}).status(); }

Result<LocalResult> RunLocal(const LocalRun& run) {
  WEIR_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
  const Program program{Command(run, folder.path()), kGiveUpSeconds};
  WEIR_RETURN_IF_ERROR(RunProgram(program).status());
  return ReadResult(run, folder.path());
}

Result<std::vector<TestPoint>> TrainUntil(const LocalRun& run, double logloss, double seconds) {
  WEIR_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
  const Program program{Command(run, folder.path()), 2 * seconds + kGiveUpSeconds};
  Watch watch(folder.path(), logloss, seconds);
  WEIR_RETURN_IF_ERROR(RunProgram(program, [&watch] { return watch.IsOver(); }).status());
  if (!watch.IsOver()) {
    return Unavailable(StrCat("the run ended after ", watch.tests().size(),
                              " tests: ", StrJoin(program.arguments, " ")));
  }
  return watch.tests();
}

}  // namespace weir::bench
