#include "common/cluster/evaluator.h"

#include <chrono>
#include <memory>
#include <utility>

namespace weir::cluster {
namespace {

// Metrics of so many are computed at once.
constexpr size_t kFewTestRows = 1'000'000;

}  // namespace

// What is begun is dropped, because a run that ends meanwhile does not wait for it; the scores are
// its own.
std::optional<v1::EvaluationReport> Evaluator::Begin(ChunkScores scores) {
  if (RowCount(scores) <= kFewTestRows) return Evaluate(scores);
  const auto task = std::make_shared<std::packaged_task<v1::EvaluationReport()>>(
      [scores = std::move(scores)] { return Evaluate(scores); });
  at_work_ = task->get_future();
  (void)executor_.Begin([task] { (*task)(); });
  return std::nullopt;
}

std::optional<v1::EvaluationReport> Evaluator::Take() {
  if (!at_work_.valid()) return std::nullopt;
  if (at_work_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
  return at_work_.get();
}

}  // namespace weir::cluster
