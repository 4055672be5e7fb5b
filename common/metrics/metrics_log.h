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
// What is undefined is null.
//
// Thread rule: thread-compatible; the run's reporting thread owns it.
#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "common/base/directory_lock.h"
#include "common/base/status.h"
#include "common/proto/report.pb.h"

namespace weir::metrics {

class MetricsLog {
 public:
  // Starts directory/metrics.jsonl anew; the directory exists, and is this log's while it lives.
  static Result<std::unique_ptr<MetricsLog>> Open(const std::string& directory);

  // seconds: training time so far, evaluations apart. total: all workers' counters, merged.
  // total_samples: of the whole run; 0 while it is not known.
  Status WriteTrain(double seconds, const v1::WorkerReport& total, uint64_t total_samples);
  Status WriteTest(double seconds, const v1::EvaluationReport& test);

 private:
  MetricsLog(DirectoryLock lock, std::string path);
  Status WriteLine(const std::string& line);

  const DirectoryLock lock_;
  const std::string path_;
  std::ofstream file_;
  double last_seconds_ = 0;
  v1::WorkerReport last_;
};

}  // namespace weir::metrics
