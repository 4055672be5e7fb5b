#include "common/cluster/evaluator.h"

#include <chrono>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace weir::cluster {
namespace {

// Metrics of so many are computed at once.
constexpr size_t kFewTestRows = 1'000'000;

}  // namespace

// Detached, because a run that ends meanwhile does not wait for it; the scores are its own.
std::optional<v1::EvaluationReport> Evaluator::Begin(ChunkScores scores) {
  if (RowCount(scores) <= kFewTestRows) return Evaluate(scores);
  const auto shared = std::make_shared<const ChunkScores>(std::move(scores));
  std::packaged_task<v1::EvaluationReport()> task([shared] { return Evaluate(*shared); });
  at_work_ = task.get_future();
  try {
    std::thread(std::move(task)).detach();
    return std::nullopt;
  } catch (const std::system_error&) {  // no more threads are to be had: others wait meanwhile
    at_work_ = {};
    return Evaluate(*shared);
  }
}

std::optional<v1::EvaluationReport> Evaluator::Take() {
  if (!at_work_.valid()) return std::nullopt;
  if (at_work_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
  return at_work_.get();
}

}  // namespace weir::cluster
