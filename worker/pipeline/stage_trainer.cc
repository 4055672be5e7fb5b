#include "worker/pipeline/stage_trainer.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <system_error>
#include <utility>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/strings.h"
#include "common/session/header_message.h"
#include "common/session/score_message.h"
#include "common/tensor/aligned_buffer.h"
#include "worker/clip_norm.h"
#include "worker/model/kernels_for.h"

namespace weir::worker {
namespace {

constexpr std::chrono::milliseconds kTick(100);
constexpr int64_t kNoticeMs = 10'000;
// Of a batch, as validate_config has it.
constexpr uint32_t kMostRows = 65'536;
// Far above what validate_config and sane numbers of threads let a first stage have in flight.
constexpr size_t kMostWaiting = 65'536;

int64_t NowMs() { return Clock::Real().NowMs(); }

ByteSpan Part(const transport::Message& message, size_t index) {
  return index < message.parts.size() ? message.parts[index].span() : ByteSpan();
}

std::vector<transport::Part> ToParts(std::vector<Bytes> bodies) {
  std::vector<transport::Part> parts;
  for (Bytes& body : bodies) parts.emplace_back(std::move(body));
  return parts;
}

}  // namespace

// One Hogwild thread.
class StageTrainer::Thread {
 public:
  explicit Thread(StageTrainer* trainer)
      : trainer_(*trainer),
        client_(*trainer->parts_.client),
        dimension_(static_cast<size_t>(trainer->layout_.embedding_dimension())),
        math_(trainer->layout_, trainer->parts_.trainer, trainer->parts_.stage,
              model::KernelsFor(trainer->config_.model()), client_.squared_tensors()),
        masks_(!std::ranges::all_of(trainer->config_.pipeline().split(), split::SendsAll)),
        gradients_(static_cast<size_t>(trainer->layout_.flat_element_count())),
        squares_(client_.squared_tensors().empty() ? 0 : gradients_.size()),
        needs_row_squares_(client_.needs_row_squares()) {}

  void Run() {
    while (std::optional<Work> work = trainer_.Next()) {
      const double begin = Seconds();
      sending_ = waiting_ = 0;
      if (Status status = Do(*std::move(work)); !status.ok()) return trainer_.Fail(status);
      trainer_.Finished();
      trainer_.AddTime(kComputing, Seconds() - begin - sending_ - waiting_);
      trainer_.AddTime(kWaitingForServers, waiting_);
      trainer_.AddTime(kSending, sending_);
      trainer_.CountSplits(math_.TakeSplitCounts());
    }
  }

 private:
  static double Seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  Status Do(Work work) {
    switch (work.kind) {
      case Kind::kStart:
        data::MakeBatch(work.batch->chunk->rows(), work.batch->slice.begin, work.batch->slice.end,
                        &work.batch->batch);
        work.batch->name.set_labels(LabelsHash(work.batch->batch));
        AskForRows(work.batch.get());
        return Forward(std::move(work.batch), {});
      case Kind::kForward:
        return Arrive(std::move(work));
      case Kind::kBackward:
        return Return(std::move(work));
    }
    return OkStatus();
  }

  // What a neighbour sent does not fit: its mistake, or that of a config.
  Status Named(const Status& status, uint32_t sender) const {
    if (status.code() != StatusCode::kInvalidData) return status;
    return InvalidData(StrCat("trainer ", trainer_.parts_.trainer, " stage ", sender,
                              " sent a batch that does not fit: ", status.message()));
  }
  Status BadForward(const std::string& what) const {
    return Named(InvalidData(what), trainer_.parts_.stage - 1);
  }
  Status BadBackward(const std::string& what) const {
    return Named(InvalidData(what), trainer_.parts_.stage + 1);
  }

  // A batch from the stage before.
  Status Arrive(Work work) {
    if (work.batch->generation == 0) WEIR_RETURN_IF_ERROR(Prepare(&work));
    // The rows of the next one are asked for before these are waited for.
    for (int i = 0; i < trainer_.config_.cluster().prefetch_batches(); ++i) {
      std::optional<Work> next = trainer_.TakeUnprepared();
      if (!next) break;
      WEIR_RETURN_IF_ERROR(Prepare(&*next));
      trainer_.PutPrepared(*std::move(next));
    }
    return Forward(std::move(work.batch), work.message);
  }

  // Reads the named rows, cuts the batch and asks for its embedding rows.
  Status Prepare(Work* work) {
    const v1::StageForward& forward = work->header.stage_forward();
    StageBatch& batch = *work->batch;
    batch.number = forward.batch();
    batch.generation = forward.generation();
    batch.name = forward.name();
    const v1::BatchName& name = batch.name;
    if (name.row_count() == 0 || name.mean_rows() < name.row_count()) {
      return BadForward("it has no rows, or more than it should have");
    }
    WEIR_RETURN_IF_ERROR(trainer_.RefreshFor(name));
    if (!math_.is_last() && !trainer_.stage().has_interaction) {  // it needs no column
      if (name.row_count() > kMostRows) return BadForward("it has too many rows");
      batch.batch.row_count = static_cast<int32_t>(name.row_count());
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(const auto rows, trainer_.chunk_rows_.Find(name));
    data::MakeBatch(*rows, static_cast<int64_t>(name.begin()),
                    static_cast<int64_t>(name.begin() + name.row_count()), &batch.batch);
    if (LabelsHash(batch.batch) != name.labels()) {
      return InvalidData(StrCat("chunk ", name.chunk(), " of file ", name.file(),
                                " has other rows here than at the first stage: all stages must "
                                "read the same files"));
    }
    AskForRows(&batch);
    return OkStatus();
  }

  Status Forward(std::unique_ptr<StageBatch> batch, const transport::Message& message) {
    WEIR_RETURN_IF_ERROR(AwaitRows(batch.get()));
    batch->mark = client_.MarkRead();
    std::vector<Bytes> bodies(batch->is_test() && masks_ ? 2 : 1);
    for (size_t i = 0; i < bodies.size(); ++i) {
      const auto crossing = i == 0 ? StageMath::Crossing::kAsTrained : StageMath::Crossing::kWhole;
      const Status status = math_.Forward(client_.replica(), rows_, crossing, Part(message, i + 1),
                                          batch.get(), &bodies[i]);
      if (!status.ok()) return Named(status, trainer_.parts_.stage - 1);
      if (!math_.is_last() || !batch->is_test()) continue;
      std::vector<float>& to = i == 0 ? scores_.probabilities : scores_.unmasked;
      to.clear();
      math_.Score(batch.get(), &to);
    }
    if (math_.is_last()) {
      return batch->is_test() ? SendScores(std::move(batch), bodies.size() == 2)
                              : TurnAround(std::move(batch));
    }
    return SendForward(std::move(batch), std::move(bodies));
  }

  void AskForRows(StageBatch* batch) {
    batch->row_elements = 0;
    for (const data::TableIds& ids : batch->batch.tables) {
      batch->row_elements += ids.unique.size() * dimension_;
    }
    if (batch->row_elements > 0) batch->pull = client_.PullRows(batch->batch, batch->is_test());
  }

  Status AwaitRows(StageBatch* batch) {
    rows_ = {};
    if (batch->row_elements == 0) return OkStatus();
    if (row_buffer_.size() < batch->row_elements) {
      row_buffer_ = tensor::AlignedBuffer(batch->row_elements * 5 / 4);
    }
    const std::span<float> rows = row_buffer_.span().first(batch->row_elements);
    rows_ = rows;
    const std::unique_ptr<RowPull> pull = std::move(batch->pull);
    const double begin = Seconds();
    const Status status = client_.AwaitRows(pull.get(), rows);
    waiting_ += Seconds() - begin;
    return status;
  }

  Status SendForward(std::unique_ptr<StageBatch> batch, std::vector<Bytes> bodies) {
    const double begin = Seconds();
    v1::Header header;
    v1::StageForward& forward = *header.mutable_stage_forward();
    forward.set_trainer(trainer_.parts_.trainer);
    forward.set_from_stage(trainer_.parts_.stage);
    forward.set_generation(batch->generation);
    forward.set_batch(batch->number);
    *forward.mutable_name() = batch->name;
    const bool passes_through = batch->is_test() && !math_.is_first();
    if (passes_through) {
      trainer_.GiveBack(std::move(batch));
    } else if (!trainer_.Keep(std::move(batch))) {
      return OkStatus();
    }
    trainer_.parts_.links->Send(header, ToParts(std::move(bodies)));
    sending_ += Seconds() - begin;
    return OkStatus();
  }

  v1::Header BackwardHeader(uint64_t generation, uint64_t number) const {
    v1::Header header;
    v1::StageBackward& backward = *header.mutable_stage_backward();
    backward.set_trainer(trainer_.parts_.trainer);
    backward.set_from_stage(trainer_.parts_.stage);
    backward.set_generation(generation);
    backward.set_batch(number);
    return header;
  }

  void SendBack(const v1::Header& header, std::vector<Bytes> bodies) {
    const double begin = Seconds();
    trainer_.parts_.links->Send(header, ToParts(std::move(bodies)));
    sending_ += Seconds() - begin;
  }

  // Of the last stage.
  Status SendScores(std::unique_ptr<StageBatch> batch, bool has_unmasked) {
    if (!has_unmasked) scores_.unmasked.clear();
    scores_.labels.assign(batch->batch.labels.begin(), batch->batch.labels.end());
    v1::Header header = BackwardHeader(batch->generation, batch->number);
    std::vector<Bytes> bodies;
    bodies.push_back(
        session::WriteScores(scores_, header.mutable_stage_backward()->mutable_scores()));
    trainer_.GiveBack(std::move(batch));
    SendBack(header, std::move(bodies));
    return OkStatus();
  }

  // Of the last stage: loss, and backward at once.
  Status TurnAround(std::unique_ptr<StageBatch> batch) {
    WEIR_ASSIGN_OR_RETURN(const double logloss_sum,
                          math_.Loss(client_.replica(), rows_, batch.get()));
    return Backward(std::move(batch), {}, logloss_sum);
  }

  // A batch from the stage behind.
  Status Return(Work work) {
    const v1::StageBackward& backward = work.header.stage_backward();
    if (!backward.has_scores()) {
      if (work.batch == nullptr || work.batch->is_test()) {
        return BadBackward("gradients of a batch that has none");
      }
      if (!std::isfinite(backward.logloss_sum())) return BadBackward("its loss is not finite");
      return Backward(std::move(work.batch), Part(work.message, 1), backward.logloss_sum());
    }
    if (math_.is_first()) {
      WEIR_RETURN_IF_ERROR(TakeScores(*work.batch, backward, work.message));
      trainer_.GiveBack(std::move(work.batch));
      return OkStatus();
    }
    v1::Header header = std::move(work.header);
    header.mutable_stage_backward()->set_from_stage(trainer_.parts_.stage);
    const double begin = Seconds();
    trainer_.parts_.links->Send(header, session::BodyOf(work.message));
    sending_ += Seconds() - begin;
    return OkStatus();
  }

  Status TakeScores(StageBatch& batch, const v1::StageBackward& backward,
                    const transport::Message& message) {
    const auto read = session::ReadScores(backward.scores(), Part(message, 1));
    if (!read.ok()) return Named(read.status(), trainer_.parts_.stage + 1);
    const eval::Scores& scores = *read;
    const auto row_count = static_cast<size_t>(batch.batch.row_count);
    if (!batch.is_test() || scores.labels.size() != row_count ||
        !std::ranges::equal(scores.labels, batch.batch.labels)) {
      return BadBackward("scores of other rows; all stages must read the same files");
    }
    batch.chunk->FinishScores(batch.slice, scores.probabilities, scores.unmasked);
    return OkStatus();
  }

  Status Backward(std::unique_ptr<StageBatch> batch, ByteSpan frames, double logloss_sum) {
    const Training training(&trainer_);
    StepGradients step;
    const std::span<float> row_gradients = RowGradients(*batch);
    std::vector<Bytes> bodies(1);
    const Status computed = math_.Backward(
        client_.replica(), {gradients_.data(), row_gradients, squares_.data(), row_squares_},
        frames, batch.get(), &bodies[0]);
    if (!computed.ok()) return Named(computed, trainer_.parts_.stage + 1);
    if (!math_.is_first()) {  // first, so that the stage before goes on
      v1::Header header = BackwardHeader(batch->generation, batch->number);
      header.mutable_stage_backward()->set_logloss_sum(logloss_sum);
      SendBack(header, std::move(bodies));
    }
    ClipNorm(trainer_.config_.update().rows().clip_norm(), row_gradients, row_squares_);
    step.mark = batch->mark;
    step.batch = &batch->batch;
    step.dense = gradients_.span();
    step.squares = squares_.span();
    step.rows = row_gradients;
    step.row_squares = row_squares_;
    if (math_.is_first()) {
      step.lease = batch->chunk->lease().lease();
      step.offset = batch->chunk->FinishedRows(step.mark.accepted_sequence);
    }
    WEIR_ASSIGN_OR_RETURN(const uint64_t sequence, client_.Push(step));
    if (math_.is_first()) {
      trainer_.samples_ += static_cast<uint64_t>(batch->batch.row_count);
      trainer_.steps_ += 1;
      trainer_.logloss_sum_ += logloss_sum;
      batch->chunk->Finish(batch->slice, sequence);
    }
    trainer_.GiveBack(std::move(batch));
    if (trainer_.config_.cluster().window() != 1) return OkStatus();
    const double begin = Seconds();
    const Status status = client_.AwaitAccepted(sequence);
    waiting_ += Seconds() - begin;
    return status;
  }

  // Zeros, shaped like the batch's rows.
  std::span<float> RowGradients(const StageBatch& batch) {
    if (row_gradients_.size() < batch.row_elements) {
      row_gradients_ = tensor::AlignedBuffer(batch.row_elements * 5 / 4);
    }
    const std::span<float> gradients = row_gradients_.span().first(batch.row_elements);
    std::ranges::fill(gradients, 0.0f);
    if (needs_row_squares_) row_squares_.assign(batch.row_elements / dimension_, 0.0f);
    return gradients;
  }

  // While it lives, a thread has a gradient that it will push.
  class Training {
   public:
    explicit Training(StageTrainer* trainer) : trainer_(*trainer) { Add(1); }
    Training(const Training&) = delete;
    Training& operator=(const Training&) = delete;
    ~Training() { Add(-1); }

   private:
    void Add(int change) {
      std::lock_guard lock(trainer_.mutex_);
      trainer_.training_count_ += change;
      trainer_.changed_.notify_all();
    }
    StageTrainer& trainer_;
  };

  StageTrainer& trainer_;
  ParameterClient& client_;
  const size_t dimension_;
  StageMath math_;
  const bool masks_;                           // splits leave something out
  tensor::AlignedBuffer gradients_, squares_;  // flat
  const bool needs_row_squares_;
  std::vector<float> row_squares_;
  tensor::AlignedBuffer row_buffer_, row_gradients_;
  std::span<const float> rows_;  // of the batch at hand
  eval::Scores scores_;
  double sending_ = 0, waiting_ = 0;  // seconds, of the work at hand
};

StageTrainer::StageTrainer(const v1::Config& config, const ModelLayout& layout, int thread_count,
                           StageParts parts, std::function<void(const Status&)> on_failure)
    : config_(config),
      layout_(layout),
      parts_(std::move(parts)),
      on_failure_(std::move(on_failure)),
      chunk_rows_(layout.stages()[parts_.stage], parts_.reader),
      view_since_ms_(NowMs()),
      in_flight_(static_cast<size_t>(config.pipeline().in_flight()) *
                 static_cast<size_t>(thread_count)) {
  model::WarnOfSlowPrecision(config.model());
  parts_.links->Start(
      [this](v1::Header header, transport::Message message) {
        TakeMessage(std::move(header), std::move(message));
      },
      [this](const Status& status) { Fail(status); });
  parts_.views->Watch([this](const v1::PipelineView& view) { TakeView(view); });
  try {
    for (int i = 0; i < thread_count; ++i) threads_.emplace_back([this] { RunThread(); });
  } catch (const std::system_error& error) {
    on_failure_(ResourceExhausted(StrCat("cannot start ", thread_count, " threads: ", error.what(),
                                         "; use a smaller --threads")));
    Abandon();
  }
}

StageTrainer::~StageTrainer() {
  parts_.views->Watch(nullptr);
  parts_.links->Stop();
  Abandon();
  for (std::thread& thread : threads_) thread.join();
}

void StageTrainer::RunThread() {
  try {
    Thread(this).Run();
  } catch (const std::bad_alloc&) {
    Fail(
        ResourceExhausted("no memory for a thread's gradients and activations; use fewer "
                          "--threads, a smaller pipeline.in_flight or data.batch_size"));
  }
}

// --- What there is to do ----------------------------------------------------------------------

std::optional<StageTrainer::Work> StageTrainer::Next() {
  const auto begin = std::chrono::steady_clock::now();
  Time waited = kWaitingForInput;
  std::optional<Work> work(std::in_place);
  Status failed;
  {
    std::unique_lock lock(mutex_);
    while (!stopping_ && failed.ok() && !PickLocked(&*work)) {
      if (is_first()) {
        waited = in_flight_.has_credit() ? kWaitingForInput : kWaitingForCredit;
        failed = CheckWaits(NowMs());
      }
      // Nobody here asks the servers for anything, so a link that has failed is looked at.
      if (failed.ok()) failed = parts_.client->AwaitAccepted(0);
      if (failed.ok()) changed_.wait_for(lock, kTick);
    }
    if (stopping_) return std::nullopt;
    if (failed.ok()) ++at_work_;
  }
  AddTime(waited, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  if (failed.ok()) return work;
  Fail(failed);
  return std::nullopt;
}

void StageTrainer::Finished() {
  std::lock_guard lock(mutex_);
  --at_work_;
  changed_.notify_all();
}

bool StageTrainer::is_busy() const {
  std::lock_guard lock(mutex_);
  return at_work_ > 0 || !forward_.empty() || !backward_.empty();
}

bool StageTrainer::PickLocked(Work* work) {
  if (PickBackwardLocked(work)) return true;
  if (is_first()) return PickStartLocked(work);
  if (forward_.empty()) return false;
  *work = std::move(forward_.front());
  forward_.pop_front();
  if (work->batch == nullptr) work->batch = SpareLocked();
  return true;
}

// Prepared ones come first, in their order.
std::optional<StageTrainer::Work> StageTrainer::TakeUnprepared() {
  std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(forward_, [](const Work& work) { return work.batch == nullptr; });
  const auto prepared_count = found - forward_.begin();
  if (found == forward_.end() || prepared_count >= config_.cluster().prefetch_batches()) {
    return std::nullopt;
  }
  Work work = std::move(*found);
  forward_.erase(found);
  work.batch = SpareLocked();
  return work;
}

void StageTrainer::PutPrepared(Work work) {
  std::lock_guard lock(mutex_);
  if (work.batch->generation != view_.generation()) return Forget(&work);
  const auto place =
      std::ranges::find_if(forward_, [](const Work& other) { return other.batch == nullptr; });
  forward_.insert(place, std::move(work));
  changed_.notify_all();
}

void StageTrainer::Forget(Work* work) {
  if (work->batch && work->batch->pull) parts_.client->Forget(work->batch->pull.get());
}

bool StageTrainer::PickBackwardLocked(Work* work) {
  while (!backward_.empty()) {
    *work = std::move(backward_.front());
    backward_.pop_front();
    const v1::StageBackward& backward = work->header.stage_backward();
    if (is_first()) {
      work->batch = in_flight_.Remove(backward.batch());
      came_back_ms_ = NowMs();
    } else if (const auto found = kept_.find(backward.batch()); found != kept_.end()) {
      work->batch = std::move(found->second);
      kept_.erase(found);
    }
    if (work->batch != nullptr || (backward.has_scores() && !is_first())) return true;
    LOG(WARNING) << "batch " << backward.batch() << " came back and nobody waits for it";
  }
  return false;
}

bool StageTrainer::PickStartLocked(Work* work) {
  if (!view_.ready() || !in_flight_.has_credit()) return false;
  *work = {};
  work->kind = Kind::kStart;
  if (in_flight_.has_lost()) {
    work->batch = in_flight_.TakeLost();
  } else {
    std::optional<ChunkWork::Slice> slice;
    while (!chunks_.empty() && !(slice = chunks_.front()->Take())) chunks_.pop_front();
    if (!slice) return false;
    work->batch = SpareLocked();
    work->batch->chunk = chunks_.front();
    work->batch->slice = *slice;
    const v1::ChunkLease& lease = chunks_.front()->lease();
    v1::BatchName& name = work->batch->name;
    name.set_split(lease.split());
    name.set_epoch(lease.epoch());
    name.set_file(lease.file());
    name.set_chunk(lease.chunk());
    name.set_evaluation(lease.evaluation());
    name.set_begin(static_cast<uint64_t>(slice->begin));
    name.set_row_count(static_cast<uint32_t>(slice->end - slice->begin));
    name.set_mean_rows(static_cast<uint32_t>(config_.data().batch_size()));
  }
  work->batch->number = in_flight_.TakeNumber();
  work->batch->generation = view_.generation();
  return true;
}

std::unique_ptr<StageBatch> StageTrainer::SpareLocked() {
  if (spare_.empty()) return std::make_unique<StageBatch>();
  std::unique_ptr<StageBatch> batch = std::move(spare_.back());
  spare_.pop_back();
  return batch;
}

bool StageTrainer::Keep(std::unique_ptr<StageBatch> batch) {
  std::lock_guard lock(mutex_);
  const bool is_present = batch->generation == view_.generation();
  const uint64_t number = batch->number;
  if (is_first() && is_present) {
    in_flight_.Add(number, std::move(batch), NowMs());
  } else if (is_first()) {
    in_flight_.Lose(std::move(batch));
  } else if (is_present) {
    kept_[number] = std::move(batch);
  }
  return is_present;
}

void StageTrainer::GiveBack(std::unique_ptr<StageBatch> batch) {
  std::lock_guard lock(mutex_);
  batch->chunk = nullptr;
  batch->generation = 0;
  spare_.push_back(std::move(batch));
  changed_.notify_all();  // somebody may have waited for credit
}

// --- What comes in ----------------------------------------------------------------------------

void StageTrainer::TakeMessage(v1::Header header, transport::Message message) {
  const bool is_forward = header.has_stage_forward();
  const uint64_t generation =
      is_forward ? header.stage_forward().generation() : header.stage_backward().generation();
  std::lock_guard lock(mutex_);
  if (generation != view_.generation()) return;
  std::deque<Work>& queue = is_forward ? forward_ : backward_;
  if (queue.size() >= kMostWaiting) {
    LOG_EVERY_N(WARNING, 1000) << "more batches arrive than may be in flight; they are dropped";
    return;
  }
  queue.push_back({is_forward ? Kind::kForward : Kind::kBackward, std::move(header),
                   std::move(message), nullptr});
  changed_.notify_all();
}

void StageTrainer::TakeView(const v1::PipelineView& view) {
  std::lock_guard lock(mutex_);
  if (view.generation() < view_.generation()) return;  // a reply that was repeated
  const bool is_new = view.generation() != view_.generation();
  const bool is_ready_now = view.ready() && (is_new || !view_.ready());
  if (is_ready_now || view_.ready()) view_since_ms_ = NowMs();
  was_incomplete_ |= std::ranges::any_of(
      view.stages(), [](const v1::StagePlace& place) { return place.incarnation() == 0; });
  if (is_ready_now && was_incomplete_) came_back_ms_ = NowMs();
  was_incomplete_ &= !view.ready();
  view_ = view;
  if (is_new) {
    const size_t dropped = is_first() ? in_flight_.count() : kept_.size();
    for (Work& work : forward_) Forget(&work);
    forward_.clear();
    backward_.clear();
    kept_.clear();
    in_flight_.LoseAll();
    if (was_ready_) {
      LOG(WARNING) << "the stages of trainer " << parts_.trainer << " changed: " << dropped
                   << " batches under way are dropped" << MissingStages();
    }
    next_notice_ms_ = NowMs() + kNoticeMs;
    parts_.links->SetView(view);
    parts_.tell_coordinator(view.generation(), 0);
  }
  if (is_ready_now && was_ready_) {
    LOG(INFO) << "all stages of trainer " << parts_.trainer << " are there again";
  }
  was_ready_ |= view.ready();
  changed_.notify_all();
}

// "; stage 1 is not there", or nothing.
std::string StageTrainer::MissingStages() const {
  std::string missing;
  for (int i = 0; i < view_.stages_size(); ++i) {
    if (view_.stages(i).incarnation() == 0) missing += StrCat("; stage ", i, " is not there");
  }
  return missing;
}

Status StageTrainer::CheckWaits(int64_t now_ms) {
  const v1::ClusterConfig& cluster = config_.cluster();
  if (!view_.ready()) {
    const int64_t waited_ms = now_ms - view_since_ms_;
    const std::string what = StrCat("trainer ", parts_.trainer, " has waited for its stages for ",
                                    waited_ms, " ms", MissingStages());
    if (waited_ms > cluster.join_timeout_ms()) {
      return Unavailable(StrCat(what, " (cluster.join_timeout_ms)"));
    }
    if (now_ms > next_notice_ms_ && next_notice_ms_ != 0) LOG(WARNING) << what;
    if (now_ms > next_notice_ms_) next_notice_ms_ = now_ms + kNoticeMs;
    return OkStatus();
  }
  const std::optional<int64_t> oldest_ms = in_flight_.oldest_ms();
  if (!oldest_ms) return OkStatus();
  // Silence counts, not how long a batch queues behind others.
  const int64_t silent_ms = now_ms - std::max(*oldest_ms, came_back_ms_);
  if (silent_ms <= cluster.answer_timeout_ms()) return OkStatus();
  if (now_ms - came_back_ms_ > cluster.answer_timeout_ms() + cluster.join_timeout_ms()) {
    return Unavailable(StrCat("no batch has come back from ", parts_.links->NextName(), " for ",
                              now_ms - came_back_ms_,
                              " ms (cluster.join_timeout_ms); is its --link an address that stage ",
                              parts_.stage, " reaches?"));
  }
  if (lost_generation_ == view_.generation()) return OkStatus();  // there will be another
  lost_generation_ = view_.generation();
  LOG(WARNING) << "no batch has come back from " << parts_.links->NextName() << " for " << silent_ms
               << " ms (cluster.answer_timeout_ms): starting over";
  parts_.tell_coordinator(view_.generation(), view_.generation());
  return OkStatus();
}

// Threads that meet it wait for it.
Status StageTrainer::RefreshFor(const v1::BatchName& name) {
  if (name.split() != v1::TEST) return OkStatus();
  std::lock_guard lock(refresh_mutex_);
  if (refreshed_for_ == name.evaluation()) return OkStatus();
  {  // Training is over, but threads may still push what they computed.
    std::unique_lock wait(mutex_);
    changed_.wait(wait, [this] { return stopping_ || training_count_ == 0; });
  }
  WEIR_RETURN_IF_ERROR(parts_.client->Refresh());
  refreshed_for_ = name.evaluation();
  return OkStatus();
}

// --- For the worker ---------------------------------------------------------------------------

void StageTrainer::Add(std::shared_ptr<ChunkWork> chunk) {
  std::lock_guard lock(mutex_);
  if (stopping_) return chunk->Abandon();
  std::erase_if(handed_, [](const auto& weak) { return weak.expired(); });
  handed_.push_back(chunk);
  chunks_.push_back(std::move(chunk));
  changed_.notify_all();
}

void StageTrainer::Abandon() {
  std::lock_guard lock(mutex_);
  stopping_ = true;
  for (const auto& weak : handed_) {
    if (const auto chunk = weak.lock()) chunk->Abandon();
  }
  changed_.notify_all();
}

void StageTrainer::Fail(const Status& status) {
  on_failure_(status);  // the reason comes first, then its consequences
  Abandon();
}

void StageTrainer::CountSplits(const std::vector<model::SplitCounts>& counts) {
  std::lock_guard lock(splits_mutex_);
  splits_.resize(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) splits_[i].Add(counts[i]);
}

void StageTrainer::FillReport(v1::WorkerReport* report) const {
  static constexpr std::array<const char*, kTimeCount> kNames = {"computing", "waiting for input",
                                                                 "waiting for credit", "sending"};
  report->set_samples(samples_);
  report->set_steps(steps_);
  report->set_logloss_sum(logloss_sum_);
  for (size_t i = 0; i < kTimeCount; ++i) {
    v1::StageTime& time = *report->add_stage_times();
    time.set_name(StrCat("stage ", parts_.stage, " ", kNames[i]));
    time.set_seconds(times_[i]);
  }
  parts_.links->FillReport(report);
  std::lock_guard lock(splits_mutex_);
  if (parts_.stage < splits_.size()) {
    const model::SplitCounts& behind = splits_[parts_.stage];
    report->mutable_dense()->set_forward((behind.elements + behind.evaluated) * sizeof(float));
    report->mutable_dense()->set_backward(behind.elements * sizeof(float));
  }
  for (size_t i = 0; i < splits_.size(); ++i) {
    splits_[i].FillReport(config_.pipeline().split(static_cast<int>(i)), report->add_splits());
  }
}

}  // namespace weir::worker
