// Follows a metrics.jsonl that a worker is writing.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::tools {

// One line of metrics.jsonl (common/metrics/metrics_log.h), as far as progress needs it. Counts are
// since the start of the run.
struct MetricsRecord {
  // "train", "test" or "checkpoint".
  std::string kind;
  double seconds = 0;
  int64_t samples = 0;
  // Of the whole run; 0 if the line does not say.
  int64_t total_samples = 0;
  double samples_per_second = 0;
  int64_t steps = 0;
  // On the wire, both ways.
  int64_t total_bytes = 0;
  std::optional<double> logloss;
  std::optional<double> auc;
};

// Empty when the line is no JSON object.
std::optional<MetricsRecord> ParseMetricsLine(const std::string& line);

class MetricsTail {
 public:
  explicit MetricsTail(std::string path) : path_(std::move(path)) {}

  // The records written since the last call; a line that is not finished is left for the next.
  // None while the file does not exist. Lines that cannot be parsed are skipped.
  std::vector<MetricsRecord> ReadNew();

 private:
  const std::string path_;
  std::streamoff offset_ = 0;
};

}  // namespace weir::tools
