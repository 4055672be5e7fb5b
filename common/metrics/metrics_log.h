// DIR/metrics.jsonl: how a run went, one JSON object a line, flushed so that it can be followed.
//
// {"kind": "train", "seconds", "samples", "total_samples", "steps", "samples_per_second",
// "logloss",
//  "bytes": {...}, "layers": [{"name", "density", "threshold"}]}: seconds, samples, steps and bytes
// since the start; total_samples of the whole run, 0 while that is not known; the rate, the logloss
// and the densities over the interval since the last such line.
// {"kind": "test", "seconds", "samples", "test_samples", "logloss", "auc", "accuracy",
//  "normalized_entropy", "calibration", "test_seconds"}: one evaluation; samples are the training
//  samples before it.
// {"kind": "checkpoint", "seconds", "samples", "number", "stood_still_seconds"}: training goes on
//  behind a checkpoint; for how long this worker had nothing to train, from the end of its last
//  chunk to the beginning of the next.
// What is undefined is null.
//
// Thread rule: thread-compatible; the run's reporting thread owns it.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "common/base/directory_lock.h"
#include "common/base/status.h"
#include "common/proto/report.pb.h"

namespace weir::metrics {

class MetricsLog {
 public:
  // The directory exists, and is this log's while it lives. Nothing in it is changed; Begin or GoOn
  // comes before the first line.
  static Result<std::unique_ptr<MetricsLog>> Claim(const std::string& directory);
  // Claim and Begin.
  static Result<std::unique_ptr<MetricsLog>> Open(const std::string& directory);

  // Starts directory/metrics.jsonl anew.
  Status Begin();
  // Goes on behind the lines that are there, which are of the same run. The first line of training
  // has no interval.
  Status GoOn();
  // Evaluations that it goes on from.
  uint32_t evaluations() const { return evaluations_; }

  // seconds: training time so far, evaluations apart. total: all workers' counters, merged.
  // total_samples: of the whole run; 0 while it is not known.
  Status WriteTrain(double seconds, const v1::WorkerReport& total, uint64_t total_samples);
  Status WriteTest(double seconds, const v1::EvaluationReport& test);
  struct Checkpoint {
    uint64_t number = 0, samples = 0;  // samples of the whole run so far
    double stood_still_seconds = 0;
  };
  Status WriteCheckpoint(double seconds, const Checkpoint& checkpoint);

 private:
  MetricsLog(DirectoryLock lock, std::string path)
      : lock_(std::move(lock)), path_(std::move(path)) {}
  Status OpenFile(std::ios::openmode mode);
  Status WriteLine(const std::string& line);

  const DirectoryLock lock_;
  const std::string path_;
  std::ofstream file_;
  uint32_t evaluations_ = 0;
  bool knows_last_ = true;
  double last_seconds_ = 0;
  v1::WorkerReport last_;
};

}  // namespace weir::metrics
