// Computes what test scores come to without holding up who calls: of many rows that takes seconds,
// in which a thread that answers others has better to do.
//
// Place in the life of a batch: the very end, forward -> scores -> **metrics**.
// Thread rule: owner thread only; many rows are computed in the background, where a run that ends
// meanwhile does not wait for them.
#pragma once

#include <future>
#include <optional>

#include "common/base/executor.h"
#include "common/cluster/evaluation.h"
#include "common/proto/report.pb.h"

namespace weir::cluster {

class Evaluator {
 public:
  explicit Evaluator(Executor& executor = Executor::Threads()) : executor_(executor) {}

  // The report, of few rows; of many it comes by Take.
  std::optional<v1::EvaluationReport> Begin(ChunkScores scores);
  // What was begun, once, when it is there.
  std::optional<v1::EvaluationReport> Take();

 private:
  Executor& executor_;
  std::future<v1::EvaluationReport> at_work_;  // when valid
};

}  // namespace weir::cluster
