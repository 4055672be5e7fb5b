#include "worker/client/embedded_client.h"

#include <algorithm>
#include <bitset>
#include <utility>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/config/config_hash.h"
#include "common/config/validate_config.h"
#include "common/saved_model/frames.h"
#include "common/saved_model/warm_start.h"
#include "common/session/score_message.h"
#include "worker/push/host_gradients.h"

namespace weir::worker {
namespace {

constexpr cluster::Seat kSelf{0, 0};

}  // namespace

// The batch stays with its thread until the rows are read, so a pull is only a reminder of it.
struct EmbeddedClient::Pull : RowPull {
  Pull(EmbeddedClient* c, const data::Batch* b, bool r) : client(*c), batch(b), read_only(r) {}
  ~Pull() override {
    if (rows != nullptr) client.GiveScratchBack(std::move(rows));
  }

  EmbeddedClient& client;
  const data::Batch* const batch;
  const bool read_only;
  std::unique_ptr<PartitionedRows> rows;  // once they are read
};

EmbeddedClient::EmbeddedClient(const v1::Config& config, const ModelLayout& layout,
                               const kernels::Compute& compute)
    : config_(config),
      layout_(layout),
      dense_rule_(store::MakeUpdateRule(config.update().dense())),
      row_rule_(store::MakeUpdateRule(config.update().rows())),
      values_(static_cast<size_t>(layout.flat_element_count())),
      device_(*compute.device),
      state_(static_cast<size_t>(layout.flat_element_count() * dense_rule_->StatePerElement())),
      tensor_mutexes_(layout.tensors().size()),
      run_book_(config, {.mode = "embedded", .config_hash = config::ConfigHash(config)}) {
  for (const TensorSpec& tensor : layout.tensors()) Initialize(tensor);
  if (!device_.is_host()) replica_ = {device_, values_.size(), "the replica"};
  failure_ = UploadReplica(nullptr);
  CHECK_LE(config.cluster().row_partitions(), config::kMaxRowPartitions);
  for (int32_t i = 0; i < config.cluster().row_partitions(); ++i) {
    partitions_.push_back(std::make_unique<RowPartitionSlot>(layout, *row_rule_));
  }
}

void EmbeddedClient::Initialize(const TensorSpec& tensor) {
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    values_[static_cast<size_t>(tensor.offset + i)] = InitialDenseValue(layout_.seed(), tensor, i);
  }
  ForEachStripe(tensor, [&](size_t /*first*/, std::span<float> values, std::span<float> state) {
    dense_rule_->InitialState(values.size(), state);
  });
}

std::unique_ptr<PartitionedRows> EmbeddedClient::TakeScratch() {
  std::lock_guard lock(scratch_mutex_);
  if (scratch_.empty()) return std::make_unique<PartitionedRows>(partitions_.size());
  std::unique_ptr<PartitionedRows> scratch = std::move(scratch_.back());
  scratch_.pop_back();
  return scratch;
}

void EmbeddedClient::GiveScratchBack(std::unique_ptr<PartitionedRows> scratch) {
  std::lock_guard lock(scratch_mutex_);
  scratch_.push_back(std::move(scratch));
}

template <typename Use>
void EmbeddedClient::ForEachPartition(const Use& use) {
  std::bitset<config::kMaxRowPartitions> busy;
  for (size_t i = 0; i < partitions_.size(); ++i) {
    const std::unique_lock lock(partitions_[i]->mutex, std::try_to_lock);
    busy[i] = !lock.owns_lock();
    if (!busy[i]) use(partitions_[i]->rows, i);
  }
  for (size_t i = 0; busy.any() && i < partitions_.size(); ++i) {
    if (!busy[i]) continue;
    const std::lock_guard lock(partitions_[i]->mutex);
    use(partitions_[i]->rows, i);
  }
}

std::unique_ptr<RowPull> EmbeddedClient::PullRows(const data::Batch& batch, bool read_only) {
  return std::make_unique<Pull>(this, &batch, read_only);
}

Status EmbeddedClient::AwaitRows(RowPull* base, std::span<float> rows) {
  WEIR_RETURN_IF_ERROR(failure());
  auto& pull = static_cast<Pull&>(*base);
  pull.rows = TakeScratch();
  pull.rows->Fill(*pull.batch);
  ForEachPartition([&](store::RowPartitionStore& store, size_t i) {
    if (pull.read_only) {
      store.ReadBatchOrInitial(pull.rows->part(i), step_, rows);
    } else {
      store.ReadBatch(pull.rows->part(i), step_, rows, &pull.rows->places(i));
    }
  });
  return OkStatus();
}

Result<uint64_t> EmbeddedClient::Push(const StepGradients& step) {
  WEIR_RETURN_IF_ERROR(failure());
  const uint64_t number = ++step_;
  WEIR_RETURN_IF_ERROR(ApplyDense(step, number));
  if (step.pull != nullptr) {
    ApplyWhereRead(static_cast<Pull&>(*step.pull), step.rows, number);
  } else {
    ApplyRows(*step.batch, step.rows, number);
  }
  if (step.next != nullptr) step.next->pull = PullRows(step.next->batch, false);
  return uint64_t{0};
}

void EmbeddedClient::ApplyWhereRead(Pull& pull, std::span<const float> gradients, uint64_t step) {
  CHECK(pull.rows != nullptr && !pull.read_only) << "a push of rows that were not read to train";
  ForEachPartition([&](store::RowPartitionStore& store, size_t i) {
    store.ApplyPlaces(pull.rows->places(i), gradients, step);
  });
}

void EmbeddedClient::ApplyRows(const data::Batch& batch, std::span<const float> gradients,
                               uint64_t step) {
  std::unique_ptr<PartitionedRows> rows = TakeScratch();
  rows->Fill(batch);
  ForEachPartition([&](store::RowPartitionStore& store, size_t i) {
    store.ApplyBatch(rows->part(i), gradients, step);
  });
  GiveScratchBack(std::move(rows));
}

Status EmbeddedClient::ApplyDense(const StepGradients& on_device, uint64_t step) {
  thread_local HostGradients host;
  std::vector<const TensorSpec*> all;
  for (const TensorSpec& tensor : layout_.tensors()) all.push_back(&tensor);
  WEIR_ASSIGN_OR_RETURN(const std::span<const float> gradients,
                        host.Fetch(device_, on_device.stream, on_device.dense, all));
  for (const TensorSpec& tensor : layout_.tensors()) {
    const auto offset = static_cast<size_t>(tensor.offset);
    std::lock_guard lock(tensor_mutexes_[tensor.id]);
    ForEachStripe(tensor, [&](size_t first, std::span<float> values, std::span<float> state) {
      dense_rule_->ApplyDense(values, state, gradients.subspan(offset + first, values.size()),
                              step);
    });
  }
  return UploadReplica(on_device.stream);
}

Status EmbeddedClient::UploadReplica(device::Stream* stream) {
  if (device_.is_host()) return OkStatus();
  const std::unique_ptr<device::Stream> own = stream == nullptr ? device_.MakeStream() : nullptr;
  device::Stream& used = stream == nullptr ? *own : *stream;
  used.CopyToDevice<float>(values_.span(), replica_.span());
  return used.Synchronize();
}

template <typename Visit>
void EmbeddedClient::ForEachStripe(const TensorSpec& tensor, const Visit& visit) {
  const auto state_per_element = static_cast<size_t>(dense_rule_->StatePerElement());
  const auto offset = static_cast<size_t>(tensor.offset);
  const auto end = static_cast<size_t>(tensor.element_count());
  for (size_t first = 0; first < end; first += kStripeElements) {
    const size_t count = std::min(end - first, static_cast<size_t>(kStripeElements));
    visit(first, values_.span().subspan(offset + first, count),
          state_.span().subspan((offset + first) * state_per_element, count * state_per_element));
  }
}

Status EmbeddedClient::Load(const saved_model::SavedModel& model) {
  const auto state_per_element = static_cast<size_t>(dense_rule_->StatePerElement());
  const auto partition_count = static_cast<uint32_t>(partitions_.size());
  WEIR_RETURN_IF_ERROR(saved_model::TakeOver(
      model, config_, layout_,
      {.begin_rules =
           [&](const v1::RuleStarts& starts) {
             dense_rule_->BeginAfter(starts.dense());
             row_rule_->BeginAfter(starts.rows());
             run_book_.director().BeginAfter(starts);
           },
       .start_rows =
           [&](uint64_t step) {
             for (const auto& partition : partitions_) partition->rows.StartAt(step);
           },
       .piece =
           [&](const PieceSpec& spec, std::span<const float> values, std::span<const float> state) {
             const auto first =
                 static_cast<size_t>(layout_.tensors()[spec.tensor].offset + spec.begin);
             std::ranges::copy(values, values_.span().subspan(first).begin());
             std::ranges::copy(state, state_.span().subspan(first * state_per_element).begin());
           },
       .row =
           [&](uint32_t table, uint64_t id, std::span<const float> values,
               std::span<const float> state) {
             partitions_[RowPartition(table, id, partition_count)]->rows.Load(table, id, values,
                                                                              state);
           }}));
  step_ = model.manifest().steps();
  run_book_.SetGoesOn();
  return UploadReplica(nullptr);
}

Result<SavedSteps> EmbeddedClient::Save(const std::function<Status(ByteSpan frames)>& take) {
  const auto state_per_element = static_cast<size_t>(dense_rule_->StatePerElement());
  Bytes frames;
  for (const PieceSpec& spec : layout_.pieces()) {
    const auto first = static_cast<size_t>(layout_.tensors()[spec.tensor].offset + spec.begin);
    const auto count = static_cast<size_t>(spec.element_count);
    frames.clear();
    WEIR_RETURN_IF_ERROR(saved_model::CheckFinite(layout_.tensors()[spec.tensor].name,
                                                  values_.span().subspan(first, count)));
    saved_model::AppendPiece(
        spec, values_.span().subspan(first, count),
        state_.span().subspan(first * state_per_element, count * state_per_element), &frames);
    WEIR_RETURN_IF_ERROR(take(frames));
  }
  for (const auto& partition : partitions_) {
    const std::lock_guard lock(partition->mutex);
    uint64_t next = 0;
    do {
      frames.clear();
      next = saved_model::AppendRows(next, step_, &partition->rows, &frames);
      WEIR_RETURN_IF_ERROR(take(frames));
    } while (next > 0);
  }
  return SavedSteps{.all = step_, .rows = step_};
}

Result<v1::WorkReply> EmbeddedClient::RequestWork(v1::WorkRequest request,
                                                  std::vector<Bytes> score_frames) {
  std::lock_guard lock(mutex_);
  if (!failure_.ok()) return failure_;
  const int64_t now_ms = Clock::Real().NowMs();
  const std::vector<ByteSpan> frames(score_frames.begin(), score_frames.end());
  WEIR_ASSIGN_OR_RETURN(auto scores, session::ReadAllScores(request, frames));
  run_book_.TakeWork(request, kSelf, std::move(scores), now_ms);
  run_book_.StepEvaluation(now_ms);
  cluster::RunDirector& director = run_book_.director();
  director.Reach(step_);
  v1::WorkReply reply = director.Next(kSelf, now_ms);
  director.FillProgress(request.known_evaluations(), now_ms, reply.mutable_progress());
  return reply;
}

Result<v1::ReportReply> EmbeddedClient::SendReport(v1::Report report) {
  std::lock_guard lock(mutex_);
  if (!failure_.ok()) return failure_;
  WEIR_RETURN_IF_ERROR(run_book_.reports().Take(kSelf, report.counted()));
  return run_book_.ReplyTo(report, 1, Clock::Real().NowMs());
}

void EmbeddedClient::Stop(const Status& status, bool) {
  std::lock_guard lock(mutex_);
  if (failure_.ok()) failure_ = status;
}

Status EmbeddedClient::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace weir::worker
