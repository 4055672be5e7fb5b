#include "worker/pipeline/stage_thread.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/strings.h"
#include "common/base/timed.h"
#include "common/session/header_message.h"
#include "common/session/score_message.h"

namespace weir::worker {
namespace {

ByteSpan Part(const transport::Message& message, size_t index) {
  return index < message.parts.size() ? message.parts[index].span() : ByteSpan();
}

Status CheckTaken(const session::BodyReader& frames) {
  if (frames.done()) return OkStatus();
  return InvalidData("more frames than the batch has slices");
}

}  // namespace

void StageTimes::FillReport(uint32_t stage, v1::WorkerReport* report) const {
  static constexpr std::array<const char*, kKindCount> kNames = {
      "computing", "waiting for input", "waiting for credit", "waiting for servers", "sending"};
  for (size_t i = 0; i < kKindCount; ++i) {
    v1::StageTime& time = *report->add_stage_times();
    time.set_name(StrCat("stage ", stage, " ", kNames[i]));
    time.set_seconds(seconds_[i]);
  }
}

StageThread::StageThread(const StageShared& shared)
    : shared_(shared),
      config_(shared.config),
      parts_(shared.parts),
      client_(*shared.parts.client),
      dimension_(static_cast<size_t>(shared.layout.embedding_dimension())),
      stream_(shared.compute.device->MakeStream()),
      finisher_({.update = config_.update(),
                 .layout = shared.layout,
                 .compute = shared.compute,
                 .stream = *stream_,
                 .client = &client_,
                 .dead_units = &shared.dead_units,
                 .counters = &shared.counters}),
      math_(shared.layout, parts_.trainer, parts_.stage, shared.compute, *stream_,
            finisher_.square_sums()),
      masks_(!std::ranges::all_of(config_.pipeline().split(), split::SendsAll)) {}

Status StageThread::Do(StageWork work) {
  sending_ = waiting_ = 0;
  double all = 0;
  {
    const Timed timed(&all);
    WEIR_RETURN_IF_ERROR(DoKind(std::move(work)));
  }
  shared_.times.Add(StageTimes::kComputing, all - sending_ - waiting_);
  shared_.times.Add(StageTimes::kWaitingForServers, waiting_);
  shared_.times.Add(StageTimes::kSending, sending_);
  return OkStatus();
}

Status StageThread::DoKind(StageWork work) {
  switch (work.kind) {
    case StageWork::Kind::kStart:
      return Start(std::move(work.batch));
    case StageWork::Kind::kForward:
      return Arrive(std::move(work));
    case StageWork::Kind::kBackward:
      return Return(std::move(work));
  }
  return OkStatus();
}

Status StageThread::Named(const Status& status, uint32_t sender) const {
  if (status.code() != StatusCode::kInvalidData) return status;
  return InvalidData(StrCat("trainer ", parts_.trainer, " stage ", sender,
                            " sent a batch that does not fit: ", status.message()));
}

Status StageThread::BadForward(const std::string& what) const {
  return Named(InvalidData(what), parts_.stage - 1);
}

Status StageThread::BadBackward(const std::string& what) const {
  return Named(InvalidData(what), parts_.stage + 1);
}

// --- Forward ----------------------------------------------------------------------------------

Status StageThread::Start(std::unique_ptr<StageBatch> batch) {
  data::MakeBatch(batch->chunk->rows(), batch->range.begin, batch->range.end, &batch->batch);
  AskForRows(batch.get());
  return Forward(std::move(batch), {});
}

Status StageThread::Arrive(StageWork work) {
  if (work.batch->generation == 0) WEIR_RETURN_IF_ERROR(Prepare(&work));
  // The rows of the next one are asked for before these are waited for.
  for (int i = 0; i < config_.cluster().prefetch_batches(); ++i) {
    std::optional<StageWork> next = shared_.queue.TakeUnprepared();
    if (!next) break;
    WEIR_RETURN_IF_ERROR(Prepare(&*next));
    shared_.queue.PutPrepared(*std::move(next));
  }
  return Forward(std::move(work.batch), work.message);
}

Status StageThread::Prepare(StageWork* work) {
  const v1::StageForward& forward = work->header.stage_forward();
  StageBatch& batch = *work->batch;
  batch.number = forward.batch();
  batch.generation = forward.generation();
  batch.name = forward.name();
  const v1::BatchName& name = batch.name;
  if (name.row_count() == 0 || name.mean_rows() < name.row_count()) {
    return BadForward("it has no rows, or more than it should have");
  }
  const int64_t batch_size = config_.data().batch_size();
  if (name.row_count() > batch_size) {
    return BadForward(StrCat("it has ", name.row_count(), " rows, and data.batch_size is ",
                             batch_size, " here; give all stages the same"));
  }
  if (name.malformed_size() > batch_size * config_.data().chunk_batches()) {
    return BadForward("it names more malformed lines than a chunk has");
  }
  {
    const Timed timed(&waiting_);
    WEIR_RETURN_IF_ERROR(shared_.refresh.RefreshFor(name));
  }
  if (math_.is_last() || shared_.layout.stages()[parts_.stage].has_interaction) {
    return ReadRows(&batch);
  }
  batch.batch.row_count = static_cast<int32_t>(name.row_count());  // it needs no column
  return OkStatus();
}

Status StageThread::ReadRows(StageBatch* batch) {
  const v1::BatchName& name = batch->name;
  WEIR_ASSIGN_OR_RETURN(const auto rows, shared_.chunk_rows.Find(name));
  data::MakeBatch(*rows, static_cast<int64_t>(name.begin()),
                  static_cast<int64_t>(name.begin() + name.row_count()), &batch->batch);
  AskForRows(batch);
  return OkStatus();
}

void StageThread::AskForRows(StageBatch* batch) {
  batch->row_elements = 0;
  for (const data::TableIds& ids : batch->batch.tables) {
    batch->row_elements += ids.unique.size() * dimension_;
  }
  if (batch->row_elements > 0) batch->pull = client_.PullRows(batch->batch, batch->is_test());
}

Status StageThread::AwaitRows(StageBatch* batch) {
  rows_ = {};
  if (batch->row_elements == 0) return OkStatus();
  const std::unique_ptr<RowPull> pull = std::move(batch->pull);
  const Timed timed(&waiting_);
  WEIR_ASSIGN_OR_RETURN(rows_, finisher_.rows().Await(pull.get(), batch->row_elements));
  return OkStatus();
}

Status StageThread::Forward(std::unique_ptr<StageBatch> batch, const transport::Message& message) {
  WEIR_RETURN_IF_ERROR(AwaitRows(batch.get()));
  if (batch->is_test() && !rows_.empty()) WEIR_RETURN_IF_ERROR(CountUnseen(*batch));
  batch->mark = client_.MarkRead();
  session::BodyReader frames(message);
  session::Body body;
  const bool is_twofold = batch->is_test() && masks_;
  for (const auto crossing : {StageMath::Crossing::kAsTrained, StageMath::Crossing::kWhole}) {
    const bool is_whole = crossing == StageMath::Crossing::kWhole;
    if (is_whole && !is_twofold) break;
    session::BodyWriter writer;
    Status status =
        math_.Forward(client_.replica(), rows_, crossing, &frames, batch.get(), &writer);
    if (status.ok() && is_whole == is_twofold) status = CheckTaken(frames);
    if (!status.ok()) return Named(status, parts_.stage - 1);
    writer.MoveTo(&body);
    if (!math_.is_last() || !batch->is_test()) continue;
    std::vector<float>& to = is_whole ? scores_.unmasked : scores_.probabilities;
    to.clear();
    WEIR_RETURN_IF_ERROR(math_.Score(batch.get(), &to));
  }
  if (!math_.is_last()) return SendForward(std::move(batch), body);
  if (batch->is_test()) return SendScores(std::move(batch), is_twofold);
  return TurnAround(std::move(batch));
}

// Where a row stands the first stage alone knows.
Status StageThread::CountUnseen(const StageBatch& batch) {
  WEIR_ASSIGN_OR_RETURN(const std::span<const float> rows, finisher_.rows().OnHost());
  const auto place = [&](size_t row) {
    return math_.is_first()
               ? PlaceOf(config_.data(), *batch.chunk, static_cast<size_t>(batch.range.begin) + row)
               : std::string();
  };
  shared_.unseen_values.Count(batch.name.evaluation(), batch.batch, rows, place);
  return OkStatus();
}

Status StageThread::SendForward(std::unique_ptr<StageBatch> batch, const session::Body& body) {
  // Before it leaves: it may be back, and reported, before this thread does anything more.
  shared_.counters.AddSplits(math_.TakeSplitCounts());
  const Timed timed(&sending_);
  shared_.handover.HandOn(std::move(batch), body);
  return OkStatus();
}

// --- At the end -------------------------------------------------------------------------------

Status StageThread::SendScores(std::unique_ptr<StageBatch> batch, bool has_unmasked) {
  if (!has_unmasked) scores_.unmasked.clear();
  scores_.labels.assign(batch->batch.labels.begin(), batch->batch.labels.end());
  v1::Header header = shared_.handover.BackwardHeader(*batch);
  session::Body body;
  body.emplace_back(
      session::WriteScores(scores_, header.mutable_stage_backward()->mutable_scores()));
  shared_.queue.GiveBack(std::move(batch));
  SendBackward(header, body);
  return OkStatus();
}

Status StageThread::TurnAround(std::unique_ptr<StageBatch> batch) {
  WEIR_ASSIGN_OR_RETURN(const double logloss_sum,
                        math_.Loss(client_.replica(), rows_, batch.get()));
  return Backward(std::move(batch), session::BodyReader(), logloss_sum);
}

// --- Backward ---------------------------------------------------------------------------------

Status StageThread::Return(StageWork work) {
  const v1::StageBackward& backward = work.header.stage_backward();
  if (backward.has_scores()) return ReturnScores(std::move(work));
  if (work.batch == nullptr || work.batch->is_test()) {
    return BadBackward("gradients of a batch that has none");
  }
  if (!std::isfinite(backward.logloss_sum())) return BadBackward("its loss is not finite");
  return Backward(std::move(work.batch), session::BodyReader(work.message), backward.logloss_sum());
}

Status StageThread::ReturnScores(StageWork work) {
  if (math_.is_first()) {
    WEIR_RETURN_IF_ERROR(TakeScores(*work.batch, work.header.stage_backward(), work.message));
    shared_.queue.GiveBack(std::move(work.batch));
    return OkStatus();
  }
  v1::Header header = std::move(work.header);
  header.mutable_stage_backward()->set_from_stage(parts_.stage);
  SendBackward(header, session::BodyOf(work.message));
  return OkStatus();
}

Status StageThread::TakeScores(StageBatch& batch, const v1::StageBackward& backward,
                               const transport::Message& message) {
  const auto read = session::ReadScores(backward.scores(), Part(message, 1));
  if (!read.ok()) return Named(read.status(), parts_.stage + 1);
  const eval::Scores& scores = *read;
  const auto row_count = static_cast<size_t>(batch.batch.row_count);
  if (!batch.is_test() || scores.labels.size() != row_count ||
      !std::ranges::equal(scores.labels, batch.batch.labels)) {
    return BadBackward("scores of other rows; all stages must read the same files");
  }
  batch.chunk->FinishScores(batch.range, scores.probabilities, scores.unmasked);
  return OkStatus();
}

Status StageThread::Backward(std::unique_ptr<StageBatch> batch, session::BodyReader frames,
                             double logloss_sum) {
  const model::GradientBuffers gradients = finisher_.Gradients(batch->row_elements);
  session::BodyWriter writer;
  Status computed = math_.Backward(client_.replica(), gradients, &frames, batch.get(), &writer);
  if (computed.ok()) computed = CheckTaken(frames);
  if (!computed.ok()) return Named(computed, parts_.stage + 1);
  shared_.counters.AddSplits(math_.TakeSplitCounts());
  if (!math_.is_first()) {  // first, so that the stage before goes on
    v1::Header header = shared_.handover.BackwardHeader(*batch);
    header.mutable_stage_backward()->set_logloss_sum(logloss_sum);
    session::Body body;
    writer.MoveTo(&body);
    SendBackward(header, body);
  }
  return Push(std::move(batch), gradients.dense, logloss_sum);
}

Status StageThread::Push(std::unique_ptr<StageBatch> batch, device::Pointer<const float> gradients,
                         double logloss_sum) {
  StepGradients step;
  step.mark = batch->mark;
  step.batch = &batch->batch;
  PushSeconds times;
  step.times = &times;
  ChunkWork* const chunk = math_.is_first() ? batch->chunk.get() : nullptr;
  const auto await_loss = [&]() -> Result<double> {
    const Status finite = math_.AwaitFinite(client_.replica(), gradients);
    if (!finite.ok()) return Named(finite, parts_.stage + 1);
    return logloss_sum;
  };
  WEIR_ASSIGN_OR_RETURN(const uint64_t sequence,
                        finisher_.Finish(step, await_loss, chunk, batch->range));
  waiting_ += times.waiting;
  shared_.queue.GiveBack(std::move(batch));
  if (config_.cluster().window() != 1) return OkStatus();
  const Timed timed(&waiting_);
  return client_.AwaitAccepted(sequence);
}

void StageThread::SendBackward(const v1::Header& header, const session::Body& body) {
  const Timed timed(&sending_);
  shared_.handover.HandBack(header, body);
}

}  // namespace weir::worker
