#include "worker/embedded/embedded_client.h"

#include <utility>

#include "common/base/clock.h"
#include "common/base/timed.h"
#include "common/config/config_hash.h"
#include "common/saved_model/frames.h"
#include "common/saved_model/warm_start.h"
#include "common/session/score_message.h"

namespace weir::worker {
namespace {

constexpr cluster::Seat kSelf{0, 0};

std::unique_ptr<DenseParameters> MakeDense(const ModelLayout& layout, const store::UpdateRule& rule,
                                           const kernels::Compute& compute) {
  return compute.update == nullptr ? MakeHostDense(layout, rule)
                                   : MakeDeviceDense(layout, rule, compute);
}

// On the device where it has numbers for all of them.
std::unique_ptr<RowParameters> MakeRows(const v1::Config& config, const ModelLayout& layout,
                                        const store::UpdateRule& rule,
                                        const kernels::Compute& compute) {
  std::unique_ptr<RowParameters> rows;
  if (compute.update != nullptr) rows = MakeDeviceRows(layout, rule, compute);
  return rows != nullptr ? std::move(rows) : MakeHostRows(config, layout, rule);
}

}  // namespace

EmbeddedClient::EmbeddedClient(const v1::Config& config, const ModelLayout& layout,
                               const kernels::Compute& compute)
    : config_(config),
      layout_(layout),
      dense_rule_(store::MakeUpdateRule(config.update().dense())),
      row_rule_(store::MakeUpdateRule(config.update().rows())),
      dense_(MakeDense(layout, *dense_rule_, compute)),
      rows_(MakeRows(config, layout, *row_rule_, compute)),
      run_book_(config, {.mode = "embedded", .config_hash = config::ConfigHash(config)}),
      checkpoints_(config, &run_book_) {}

std::unique_ptr<RowPull> EmbeddedClient::PullRows(const data::Batch& batch, bool read_only) {
  return rows_->Pull(batch, read_only);
}

Status EmbeddedClient::AwaitRows(RowPull* pull, std::span<float> rows) {
  WEIR_RETURN_IF_ERROR(failure());
  return rows_->Read(pull, step_, rows);
}

Status EmbeddedClient::AwaitRowsOnDevice(RowPull* pull, device::Stream& stream,
                                         device::Span<float> rows) {
  WEIR_RETURN_IF_ERROR(failure());
  return rows_->ReadOnDevice(pull, step_, stream, rows);
}

Result<uint64_t> EmbeddedClient::Push(const StepGradients& step) {
  WEIR_RETURN_IF_ERROR(failure());
  PushSeconds unasked;
  WEIR_RETURN_IF_ERROR(Apply(step, step.times == nullptr ? &unasked : step.times));
  if (step.next != nullptr) step.next->pull = PullRows(step.next->batch, false);
  return uint64_t{0};
}

Status EmbeddedClient::Apply(const StepGradients& step, PushSeconds* times) {
  const Timed timed(&times->update);
  const uint64_t number = ++step_;
  WEIR_RETURN_IF_ERROR(dense_->Apply(step.stream, step.dense, number));
  return rows_->Apply(step, number);
}

Status EmbeddedClient::AwaitSteps() {
  WEIR_RETURN_IF_ERROR(dense_->AwaitSteps());
  return rows_->AwaitSteps();
}

// An evaluation is of all steps before it, whatever stream it is computed in.
Status EmbeddedClient::Refresh() {
  WEIR_RETURN_IF_ERROR(failure());
  return AwaitSteps();
}

Status EmbeddedClient::Load(const saved_model::SavedModel& model) {
  const uint64_t steps = model.manifest().steps();
  Status failure;
  WEIR_RETURN_IF_ERROR(saved_model::TakeOver(
      model, config_, layout_,
      {.begin_rules =
           [&](const v1::RuleStarts& starts) {
             dense_rule_->BeginAfter(starts.dense());
             row_rule_->BeginAfter(starts.rows());
             run_book_.director().BeginAfter(starts);
           },
       .start_rows = [&](uint64_t step) { rows_->StartAt(step); },
       .piece =
           [&](const PieceSpec& spec, std::span<const float> values, std::span<const float> state) {
             if (failure.ok()) failure = dense_->Load(spec, steps, values, state);
           },
       .row =
           [&](uint32_t table, uint64_t id, std::span<const float> values,
               std::span<const float> state) {
             if (failure.ok()) failure = rows_->Load(table, id, values, state);
           }}));
  step_ = steps;
  run_book_.SetGoesOn();
  return failure.ok() ? rows_->EndLoad() : failure;
}

Result<SavedSteps> EmbeddedClient::Save(const std::function<Status(ByteSpan frames)>& take) {
  WEIR_RETURN_IF_ERROR(AwaitSteps());
  Bytes frames;
  std::vector<float> values, state;
  for (const PieceSpec& spec : layout_.pieces()) {
    WEIR_RETURN_IF_ERROR(dense_->Save(spec, step_, &values, &state));
    WEIR_RETURN_IF_ERROR(saved_model::CheckFinite(layout_.tensors()[spec.tensor].name, values));
    frames.clear();
    saved_model::AppendPiece(spec, values, state, &frames);
    WEIR_RETURN_IF_ERROR(take(frames));
  }
  WEIR_RETURN_IF_ERROR(rows_->Save(step_, take));
  return SavedSteps{.all = step_, .rows = step_};
}

// All of it is written here, so nothing is left for the worker to write.
Result<std::optional<saved_model::KeptStates>> EmbeddedClient::PutAside(uint64_t /*checkpoint*/) {
  WEIR_RETURN_IF_ERROR(failure());  // and others may tell of one while it is written
  checkpoints_.Write([this](const auto& take) { return Save(take); }, Clock::Real().NowMs());
  return std::optional<saved_model::KeptStates>();
}

Result<v1::WorkReply> EmbeddedClient::RequestWork(v1::WorkRequest request,
                                                  std::vector<Bytes> score_frames) {
  MutexLock lock(mutex_);
  if (!failure_.ok()) return failure_;
  const int64_t now_ms = Clock::Real().NowMs();
  const std::vector<ByteSpan> frames(score_frames.begin(), score_frames.end());
  WEIR_ASSIGN_OR_RETURN(auto scores, session::ReadAllScores(request, frames));
  run_book_.TakeWork(request, kSelf, std::move(scores), now_ms);
  run_book_.StepEvaluation(now_ms);
  cluster::RunDirector& director = run_book_.director();
  director.Reach(step_);
  checkpoints_.Tick(request.wants_checkpoint(), now_ms);
  v1::WorkReply reply = director.Next(kSelf, now_ms);
  reply.set_checkpoint(director.checkpoint());
  director.FillProgress(request.known_evaluations(), now_ms, reply.mutable_progress());
  return reply;
}

Result<v1::ReportReply> EmbeddedClient::SendReport(v1::Report report) {
  MutexLock lock(mutex_);
  if (!failure_.ok()) return failure_;
  WEIR_RETURN_IF_ERROR(run_book_.reports().Take(kSelf, report.counted()));
  return run_book_.ReplyTo(report, 1, Clock::Real().NowMs());
}

void EmbeddedClient::Stop(const Status& status, bool) {
  MutexLock lock(mutex_);
  if (failure_.ok()) failure_ = status;
}

Status EmbeddedClient::failure() const {
  MutexLock lock(mutex_);
  return failure_;
}

}  // namespace weir::worker
