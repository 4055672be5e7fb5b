#include "tools/bench/local_run.h"

#include <signal.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "common/base/clock.h"
#include "common/base/strings.h"
#include "tools/bench/temporary_folder.h"
#include "tools/local/child_process.h"
#include "tools/local/metrics_tail.h"

namespace weir::bench {
namespace {

// Far above what any run of RunLocal takes; and a run of TrainUntil beyond its seconds of training.
constexpr int kGiveUpSeconds = 100;

// text: without single quotes.
std::string Quoted(const std::string& text) { return StrCat("'", text, "'"); }

// Fails with the command's last words.
Status Execute(const std::string& command) {
  FILE* pipe = popen(StrCat(command, " 2>&1").c_str(), "r");
  if (pipe == nullptr) return Internal(StrCat("cannot run ", command));
  std::string last;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe)) {
    if (buffer[0] != '\n') last = buffer.data();
  }
  if (pclose(pipe) == 0) return OkStatus();
  if (last.ends_with('\n')) last.pop_back();
  return Unavailable(StrCat("failed, saying \"", last, "\": ", command));
}

// Runs a command of the shell behind a link, as the process that the shell was.
std::string Behind(const Link& link, const std::string& command) {
  if (link.name == nullptr) return StrCat("exec ", command);
  return StrCat(
      "exec unshare --net sh -c \"ip link set lo up && tc qdisc replace dev lo root tbf rate ",
      link.name, " burst ", link.burst, " latency 50ms && exec ", command, "\"");
}

std::string Command(const LocalRun& run, const std::string& out) {
  std::vector<std::string> files;
  for (const std::string& file : StrSplit(run.config_files, ',')) {
    files.push_back(StrCat(WEIR_SOURCE_DIR, "/configs/", file));
  }
  const std::string override_text =
      StrCat("data { batch_size: ", run.batch_size, " synthetic { rows: ", run.rows,
             " test_rows: ", run.test_rows, " } } compression { default { ", run.policy,
             " } } run { evaluate_every_samples: ", run.evaluate_every_samples, " }");
  return StrCat(Quoted(StrCat(WEIR_BINARY_DIR, "/weir-local")),
                " --config=", Quoted(StrJoin(files, ",")), " --override=", Quoted(override_text),
                " --servers=", run.servers, " --trainers=1 --threads=1 --out=", Quoted(out));
}

Result<LocalResult> ReadResult(const LocalRun& run, const std::string& out) {
  LocalResult result;
  std::ifstream summary_file(out + "/summary.json");
  const auto summary = nlohmann::json::parse(summary_file, nullptr, /*allow_exceptions=*/false);
  if (!summary.contains("train")) return Internal("weir-local left no summary.json");
  if (summary["train"]["samples"] != run.rows) {
    return Internal(StrCat("weir-local trained ", summary["train"]["samples"].dump(), " of ",
                           run.rows, " rows"));
  }
  result.samples_per_second = summary["train"]["samples_per_second"];
  // Guessing gives 0.57 or so on these rows, and a short run is not far below it; one that diverged
  // says nothing about speed.
  if (!(summary["test"]["logloss"] < 0.7)) {
    return Internal(StrCat("the run diverged: ", run.policy));
  }
  return result;
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

// Until the process ends (how is returned), or done(), or so many seconds are over.
template <typename Done>
std::optional<tools::ChildExit> Wait(tools::ChildProcess* process, double seconds, Done done) {
  const double until = MonotonicSeconds() + seconds;
  std::optional<tools::ChildExit> exit;
  while (!exit && !done() && MonotonicSeconds() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    exit = process->Poll();
  }
  return exit;
}

}  // namespace

Status CheckLinks() { return Execute(Behind({"1gbit"}, "true")); }

Result<LocalResult> RunLocal(const LocalRun& run) {
  const TemporaryFolder folder;
  if (folder.path().empty()) return Unavailable("cannot make a temporary folder");
  const std::string command = StrCat("timeout ", kGiveUpSeconds, " ", Command(run, folder.path()));
  WEIR_RETURN_IF_ERROR(Execute(Behind(run.link, command)));
  return ReadResult(run, folder.path());
}

Result<std::vector<TestPoint>> TrainUntil(const LocalRun& run, double logloss, double seconds) {
  const TemporaryFolder folder;
  if (folder.path().empty()) return Unavailable("cannot make a temporary folder");
  const std::string command = Behind(run.link, Command(run, folder.path()));
  WEIR_ASSIGN_OR_RETURN(tools::ChildProcess process,
                        tools::ChildProcess::Start({.name = "weir-local",
                                                    .arguments = {"/bin/sh", "-c", command},
                                                    .log_path = folder.path() + "/log"}));
  Watch watch(folder.path(), logloss, seconds);
  const auto ended =
      Wait(&process, 2 * seconds + kGiveUpSeconds, [&watch] { return watch.IsOver(); });
  if (!watch.IsOver()) {
    return Unavailable(StrCat(ended ? ToString(*ended) : "does not end", " after ",
                              watch.tests().size(), " tests: ", command));
  }
  process.Signal(SIGTERM);
  Wait(&process, kGiveUpSeconds, [] { return false; });
  return watch.tests();
}

}  // namespace weir::bench
