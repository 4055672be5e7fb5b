// The directory of a run: who writes what where, and how the results of its workers become those
// of the run.
//
//   DIR/config.textproto            the resolved config
//   DIR/logs/<process>.log          what each process printed
//   DIR/trainer-<t>/                what worker t wrote about itself
//   DIR/summary.json, metrics.jsonl the whole run
//
// Thread rule: one thread.
#pragma once

#include <string>

#include "common/base/directory_lock.h"
#include "common/base/status.h"

namespace weir::tools {

class OutputDirectory {
 public:
  explicit OutputDirectory(std::string path) : path_(std::move(path)) {}

  std::string ConfigPath() const { return path_ + "/config.textproto"; }
  std::string LogDirectory() const { return path_ + "/logs"; }
  std::string LogPath(const std::string& process_name) const;
  std::string TrainerPath(int trainer) const;
  std::string MetricsPath(int trainer) const { return TrainerPath(trainer) + "/metrics.jsonl"; }
  std::string SummaryPath() const { return path_ + "/summary.json"; }
  std::string RunMetricsPath() const { return path_ + "/metrics.jsonl"; }

  // Makes the directories, writes the config, and removes the logs and results of an earlier run,
  // so that nothing old is taken for new. Other files stay. The error names the path. Hold the
  // lock until Collect: another run is refused meanwhile.
  Result<DirectoryLock> Prepare(int trainer_count, const std::string& config_text) const;

  // Writes summary.json and metrics.jsonl of the run: those of trainer 0, which describe the whole
  // run, or of the first trainer that has them. Returns the summary's text. NotFound if no trainer
  // wrote one.
  Result<std::string> Collect(int trainer_count) const;

 private:
  Status RemoveEarlierRun() const;

  std::string path_;
};

}  // namespace weir::tools
