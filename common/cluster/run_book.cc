#include "common/cluster/run_book.h"

#include <optional>
#include <utility>

#include "common/base/check.h"
#include "common/metrics/warnings.h"

namespace weir::cluster {

RunBook::RunBook(const v1::Config& config, RunFacts facts, Executor& executor)
    : config_(config), facts_(std::move(facts)), director_(PlanRun(config)), evaluator_(executor) {}

void RunBook::TakeWork(const v1::WorkRequest& request, Seat seat, std::vector<eval::Scores> scores,
                       int64_t now_ms) {
  CHECK_EQ(scores.size(), static_cast<size_t>(request.completions_size()));
  for (const v1::FileEnd& end : request.file_ends()) director_.LearnEnd(seat, end);
  for (const v1::FoundPlace& found : request.places()) director_.LearnPlace(seat, found);
  director_.TakeWord(seat);
  for (int i = 0; i < request.completions_size(); ++i) {
    director_.Complete(seat, request.completions(i), std::move(scores[static_cast<size_t>(i)]),
                       now_ms);
  }
}

void RunBook::StepEvaluation(int64_t now_ms) {
  std::optional<v1::EvaluationReport> report;
  if (auto scores = director_.TakeScores()) {
    report = evaluator_.Begin(*std::move(scores));
  } else {
    report = evaluator_.Take();
  }
  if (report) director_.Evaluated(*std::move(report), now_ms);
}

v1::ReportReply RunBook::ReplyTo(const v1::Report& report, uint32_t trainers, int64_t now_ms) {
  v1::ReportReply reply;
  reply.set_request_id(report.request_id());
  reply.set_total_samples(director_.total_samples());
  reply.set_train_seconds(director_.TrainSeconds(now_ms));
  const bool is_over = director_.state() == RunDirector::State::kFinished;
  if (report.is_last() && is_over) *reply.mutable_run() = FinalReport(trainers, now_ms);
  if (!report.wants_sum() || report.is_last()) return reply;  // the run's report has it
  *reply.mutable_sum() = reports_.Merged(now_ms);
  reply.mutable_sum()->clear_staleness();
  reply.mutable_sum()->clear_notices();
  return reply;
}

void RunBook::SaveChanges(SavedParts* parts) {
  director_.SaveChanges(parts);
  reports_.SaveChanges(parts);
}

Status RunBook::Load(PartSource* source) {
  WEIR_RETURN_IF_ERROR(director_.Load(source));
  return reports_.Load(source);
}

void RunBook::BeginAnew() {
  director_.BeginAnew();
  reports_.CloseAll();
}

v1::RunReport RunBook::FinalReport(uint32_t trainers, int64_t now_ms) {
  v1::RunReport report;
  report.set_mode(facts_.mode);
  report.set_servers(facts_.servers);
  report.set_trainers(trainers);
  report.set_stages(static_cast<uint32_t>(config_.pipeline().split_size()) + 1);
  report.set_seed(config_.run().seed());
  report.set_config_hash(facts_.config_hash);
  director_.FillReport(now_ms, &report);
  *report.mutable_total() = reports_.MergedNow();
  *report.mutable_bounded() = facts_.bounded;
  metrics::AddWarnings(
      {.config = config_, .evaluations = director_.evaluations(), .goes_on = facts_.goes_on},
      &report);
  return report;
}

}  // namespace weir::cluster
