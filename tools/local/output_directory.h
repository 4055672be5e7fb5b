// The directory of a run: who writes what where, and how the results of its workers become those
// of the run.
//
//   DIR/config.textproto            the resolved config
//   DIR/logs/<process>.log          what each process printed
//   DIR/trainer-<t>/                what worker t wrote about itself
//   DIR/summary.json, metrics.jsonl the whole run
//   DIR/.earlier-results/           what an earlier run left, until this one has begun
//
// Thread rule: one thread.
#pragma once

#include <string>

#include "common/base/directory_lock.h"
#include "common/base/status.h"
#include "tools/local/earlier_results.h"

namespace weir::tools {

// With those above it. The error names the path.
Status MakeDirectory(const std::string& path);

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

  // Hold it until Collect.
  struct Claim {
    DirectoryLock lock;      // another run is refused meanwhile
    EarlierResults earlier;  // goes first: it needs the lock
  };
  // Makes the directories, writes the config, sets the results of an earlier run aside and removes
  // its logs, so that nothing old is taken for new. Other files stay. The error names the path.
  Result<Claim> Prepare(int trainer_count, const std::string& config_text) const;

  // Writes summary.json and metrics.jsonl of the run: those of trainer 0, which describe the whole
  // run, or of the first trainer that has them. Returns the summary's text. NotFound if no trainer
  // wrote one.
  Result<std::string> Collect(int trainer_count) const;

 private:
  Status RemoveEarlierLogs() const;

  std::string path_;
};

}  // namespace weir::tools
