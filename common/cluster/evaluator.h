// Computes what test scores come to without holding up who calls: of many rows that takes seconds,
// in which a thread that answers others has better to do.
//
// Place in the life of a batch: the very end, forward -> scores -> **metrics**.
// Thread rule: owner thread only; of many rows a thread of its own computes, which outlives a run
// that ends meanwhile.
#pragma once

#include <future>
#include <optional>

#include "common/cluster/evaluation.h"
#include "common/proto/report.pb.h"

namespace weir::cluster {

class Evaluator {
 public:
  // The report, of few rows; of many it comes by Take.
  std::optional<v1::EvaluationReport> Begin(ChunkScores scores);
  // What was begun, once, when it is there.
  std::optional<v1::EvaluationReport> Take();

 private:
  std::future<v1::EvaluationReport> at_work_;  // when valid
};

}  // namespace weir::cluster
