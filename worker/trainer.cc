#include "worker/trainer.h"

#include <algorithm>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "common/base/check.h"
#include "common/base/out_of_memory.h"
#include "common/base/random.h"
#include "common/base/random_streams.h"
#include "common/base/strings.h"
#include "common/base/timed.h"
#include "worker/data/batch.h"
#include "worker/model/dlrm.h"
#include "worker/model/kernels_for.h"
#include "worker/step/step_finisher.h"

namespace weir::worker {
namespace {

bool LeavesOut(const v1::PipelineConfig& pipeline) {
  return !std::ranges::all_of(pipeline.split(), split::SendsAll);
}

Status NoMemory(const std::bad_alloc& error) {
  return ShortOfMemory(
      error,
      "no memory for a thread's gradients and activations; use fewer --threads, a smaller "
      "data.batch_size or a smaller model");
}

}  // namespace

// One Hogwild thread.
class Trainer::Thread {
 public:
  Thread(Trainer* trainer, int number, uint64_t split_seed)
      : trainer_(*trainer),
        number_(number),
        batch_size_(trainer->config_.data().batch_size()),
        dimension_(static_cast<size_t>(trainer->layout_.embedding_dimension())),
        stream_(trainer->compute_.device->MakeStream()),
        finisher_({.update = trainer->config_.update(),
                   .layout = trainer->layout_,
                   .compute = trainer->compute_,
                   .stream = *stream_,
                   .client = trainer->client_,
                   .dead_units = &trainer->dead_units_,
                   .counters = &trainer->counters_}),
        model_(trainer->layout_, trainer->compute_, finisher_.square_sums(), split_seed),
        masks_(LeavesOut(trainer->config_.pipeline())) {}

  void Run() {
    while (const std::shared_ptr<ChunkWork> chunk = NextChunk()) {
      if (Status status = TryChunk(*chunk); !status.ok()) {
        return trainer_.Fail(status, chunk.get());
      }
      if (!has_left_) trainer_.Retire(chunk);
    }
  }

 private:
  // A batch whose rows are on their way, or are to be.
  struct Prepared : NextRows {
    ChunkWork::BatchRange range;
    size_t row_elements = 0;
  };

  // What goes by before the first step, and around tests, is no step's.
  std::shared_ptr<ChunkWork> NextChunk() {
    const double begin = MonotonicSeconds();
    std::shared_ptr<ChunkWork> chunk = trainer_.Current(number_);
    const double now = MonotonicSeconds();
    const bool trains = chunk != nullptr && !chunk->is_test();
    if (std::exchange(trained_, trains) && trains && !has_left_) {
      times_.input += now - begin;
    } else {
      step_begin_ = now;
      times_ = {};
    }
    return chunk;
  }

  // Of the step that is done.
  void CountTimes() {
    times_.passes.backward -= finisher_.TakeListenedSeconds();
    const double now = MonotonicSeconds();
    times_.other = std::max(0.0, now - std::exchange(step_begin_, now) - times_.sum());
    trainer_.counters_.AddTimes(std::exchange(times_, {}));
  }

  Status TryChunk(ChunkWork& chunk) {
    try {
      return RunChunk(chunk);
    } catch (const std::bad_alloc& error) {
      return NoMemory(error);
    }
  }

  Status RunChunk(ChunkWork& chunk) {
    prepared_.clear();
    finisher_.rows().ForgetAhead();
    begun_ = nullptr;
    has_left_ = false;
    while (true) {
      while (std::unique_ptr<Prepared> next = PrepareNext(chunk)) {
        next->pull = trainer_.client_->PullRows(next->batch, chunk.is_test());
        prepared_.push_back(std::move(next));
      }
      if (prepared_.empty()) return OkStatus();
      std::unique_ptr<Prepared> first = std::move(prepared_.front());
      prepared_.pop_front();
      WEIR_RETURN_IF_ERROR(Step(chunk, *first));
      spare_.push_back(std::move(first));
    }
  }

  // Null when as many are prepared as shall be, or there is no other.
  std::unique_ptr<Prepared> PrepareNext(ChunkWork& chunk) {
    const auto ahead = static_cast<size_t>(trainer_.config_.cluster().prefetch_batches());
    if (prepared_.size() > ahead) return nullptr;
    has_left_ = !chunk.is_test() && number_ >= trainer_.training_threads_;
    if (has_left_) return nullptr;
    const auto range = chunk.Take();
    return range ? Prepare(chunk, *range) : nullptr;
  }

  std::unique_ptr<Prepared> Prepare(const ChunkWork& chunk, const ChunkWork::BatchRange& range) {
    std::unique_ptr<Prepared> prepared;
    if (spare_.empty()) {
      prepared = std::make_unique<Prepared>();
    } else {
      prepared = std::move(spare_.back());
      spare_.pop_back();
    }
    prepared->range = range;
    data::MakeBatch(chunk.rows(), range.begin, range.end, &prepared->batch);
    prepared->row_elements = 0;
    for (const data::TableIds& ids : prepared->batch.tables) {
      prepared->row_elements += ids.unique.size() * dimension_;
    }
    return prepared;
  }

  Status Step(ChunkWork& chunk, Prepared& prepared) {
    const double idle_before = stream_->idle_seconds();
    if (begun_ != &prepared) {
      WEIR_ASSIGN_OR_RETURN(const device::Span<const float> rows, AwaitRows(prepared));
      if (chunk.is_test()) return Score(chunk, prepared, rows);
      WEIR_RETURN_IF_ERROR(Begin(prepared, rows));
    }
    begun_ = nullptr;
    WEIR_RETURN_IF_ERROR(Train(chunk, prepared));
    if (trainer_.compute_.device->is_host()) {
      CountTimes();
    } else {
      trainer_.counters_.AddDeviceIdle(stream_->idle_seconds() - idle_before);
    }
    return OkStatus();
  }

  Result<device::Span<const float>> AwaitRows(const Prepared& prepared) {
    const Timed timed(&times_.rows);
    return finisher_.rows().Await(prepared.pull.get(), prepared.row_elements);
  }

  Status Score(ChunkWork& chunk, const Prepared& prepared, device::Span<const float> rows) {
    WEIR_ASSIGN_OR_RETURN(const std::span<const float> on_host, finisher_.rows().OnHost());
    trainer_.unseen_values_.Count(chunk.lease().evaluation(), prepared.batch, on_host,
                                  [&](size_t row) {
                                    return PlaceOf(trainer_.config_.data(), chunk,
                                                   static_cast<size_t>(prepared.range.begin) + row);
                                  });
    probabilities_.resize(static_cast<size_t>(prepared.batch.row_count));
    WEIR_RETURN_IF_ERROR(
        model_.Score(*stream_, trainer_.client_->replica(), prepared.batch, rows, probabilities_));
    if (masks_) {
      unmasked_.resize(probabilities_.size());
      WEIR_RETURN_IF_ERROR(model_.Score(*stream_, trainer_.client_->replica(), prepared.batch, rows,
                                        unmasked_, model::Dlrm::Crossing::kWhole));
    }
    chunk.FinishScores(prepared.range, probabilities_, unmasked_);
    return OkStatus();
  }

  // Enqueues a step up to its gradients.
  Status Begin(const Prepared& prepared, device::Span<const float> rows) {
    StepGradients step;
    step.batch = &prepared.batch;
    step.mark = mark_ = trainer_.client_->MarkRead();
    model::GradientBuffers gradients = finisher_.Gradients(prepared.row_elements);
    gradients.listener = finisher_.Begin(step);
    gradients.times = &times_.passes;
    WEIR_RETURN_IF_ERROR(model_.StartTraining(*stream_, trainer_.client_->replica(), prepared.batch,
                                              rows, batch_size_, gradients));
    trainer_.counters_.AddSplits(model_.TakeSplitCounts());
    return OkStatus();
  }

  // The next batch's, while what a device selected of this one is copied, encoded and pushed: where
  // its rows are there and no answer is awaited first. This one has its credit, so no more batches
  // are at work than may be. With splits that would wait for the device.
  Status BeginNext() {
    if (trainer_.awaits_answers_ || prepared_.empty()) return OkStatus();
    if (!trainer_.config_.pipeline().split().empty()) return OkStatus();
    const Prepared& next = *prepared_.front();
    if (!finisher_.rows().are_ahead(next.pull.get())) return OkStatus();
    if (!finisher_.HasRoom(next.row_elements)) return OkStatus();
    begun_ = &next;
    WEIR_ASSIGN_OR_RETURN(const device::Span<const float> rows,
                          finisher_.rows().Await(next.pull.get(), next.row_elements));
    return Begin(next, rows);
  }

  // A step that is begun.
  Status Train(ChunkWork& chunk, const Prepared& prepared) {
    StepGradients step;
    step.batch = &prepared.batch;
    step.pull = prepared.pull.get();
    step.mark = mark_;
    step.times = &times_.push;
    Status of_next;
    step.once_taken = [&] { of_next = BeginNext(); };
    // While a device computes.
    std::unique_ptr<Prepared> next = PrepareNext(chunk);
    step.next = next.get();
    if (!prepared_.empty()) {
      const Prepared& behind = *prepared_.front();
      WEIR_RETURN_IF_ERROR(finisher_.rows().AwaitAhead(behind.pull.get(), behind.row_elements));
    }
    WEIR_ASSIGN_OR_RETURN(const uint64_t sequence,
                          finisher_.Finish(
                              step, [this] { return model_.AwaitLoss(); }, &chunk, prepared.range));
    if (next != nullptr) prepared_.push_back(std::move(next));
    WEIR_RETURN_IF_ERROR(of_next);
    if (!trainer_.awaits_answers_) return OkStatus();
    const Timed timed(&times_.answers);
    return trainer_.client_->AwaitAccepted(sequence);
  }

  Trainer& trainer_;
  const int number_;
  bool has_left_ = false;  // its chunk to the others: fewer threads are to train now
  const int64_t batch_size_;
  const size_t dimension_;
  const std::unique_ptr<device::Stream> stream_;
  StepFinisher finisher_;
  model::Dlrm model_;
  const bool masks_;  // splits leave something out
  std::vector<float> probabilities_, unmasked_;
  std::deque<std::unique_ptr<Prepared>> prepared_;
  const Prepared* begun_ = nullptr;  // before its turn
  ReadMark mark_;                    // of the step that was begun last
  StepSeconds times_;                // of the step at hand
  double step_begin_ = 0;
  bool trained_ = false;  // the chunk before
  std::vector<std::unique_ptr<Prepared>> spare_;
};

Trainer::Trainer(const v1::Config& config, const ModelLayout& layout,
                 const kernels::Compute& compute, int thread_count, ParameterClient* client,
                 std::function<void(const Status&)> on_failure)
    : config_(config),
      layout_(layout),
      compute_(compute),
      client_(client),
      on_failure_(std::move(on_failure)),
      limits_{thread_count, config.cluster().window(), config.cluster().window() == 1},
      awaits_answers_(limits_.awaits_answers),
      training_threads_(thread_count),
      counters_(config.pipeline()),
      unseen_values_(layout),
      dead_units_(layout) {
  CHECK_GT(thread_count, 0);
  if (compute.device->is_host()) model::WarnOfSlowPrecision(config.model());
  try {
    for (int i = 0; i < thread_count; ++i) threads_.emplace_back([this, i] { RunThread(i); });
  } catch (const std::system_error& error) {
    on_failure_(ResourceExhausted(StrCat("cannot start ", thread_count, " threads: ", error.what(),
                                         "; use a smaller --threads")));
    Abandon();
  }
}

void Trainer::FillReport(v1::WorkerReport* report) const {
  counters_.FillReport(report);
  unseen_values_.FillReport(report);
  dead_units_.FillReport(report);
}

void Trainer::RunThread(int number) {
  try {
    Thread(this, number, KeyedHash(layout_.seed(), RunStream::kSplit, client_->trainer(), number))
        .Run();
  } catch (const std::bad_alloc& error) {
    on_failure_(NoMemory(error));
    Abandon();
  }
}

Trainer::~Trainer() {
  Abandon();
  for (std::thread& thread : threads_) thread.join();
}

void Trainer::Add(std::shared_ptr<ChunkWork> chunk) {
  MutexLock lock(mutex_);
  if (stopping_) return chunk->Abandon();
  chunks_.push_back(std::move(chunk));
  changed_.NotifyAll();
}

void Trainer::SetLimits(const StepLimits& limits) {
  MutexLock lock(mutex_);
  limits_ = limits;
  awaits_answers_ = limits.awaits_answers;
  training_threads_ = limits.threads;
  changed_.NotifyAll();
}

// Scores are not pushed: all threads may compute them.
bool Trainer::MayTake(int thread) const {
  return !chunks_.empty() && (chunks_.front()->is_test() || thread < limits_.threads);
}

std::shared_ptr<ChunkWork> Trainer::Current(int thread) {
  MutexLock lock(mutex_);
  while (!stopping_ && !MayTake(thread)) changed_.Wait(lock);
  return stopping_ ? nullptr : chunks_.front();
}

// The first thread that finds nothing left to take moves everybody on.
void Trainer::Retire(const std::shared_ptr<ChunkWork>& chunk) {
  MutexLock lock(mutex_);
  if (chunks_.empty() || chunks_.front() != chunk) return;
  chunks_.pop_front();
  changed_.NotifyAll();  // the next one may be for more of them
}

void Trainer::Abandon() {
  MutexLock lock(mutex_);
  stopping_ = true;
  for (const auto& chunk : chunks_) chunk->Abandon();
  changed_.NotifyAll();
}

void Trainer::Fail(const Status& status, ChunkWork* chunk) {
  on_failure_(status);  // before anybody is woken: the reason comes first, then its consequences
  chunk->Abandon();     // another thread may have retired it: all its batches are taken
  Abandon();
}

}  // namespace weir::worker
