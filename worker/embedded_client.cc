#include "worker/embedded_client.h"

#include <algorithm>
#include <utility>

#include "common/base/clock.h"
#include "common/config/config_hash.h"
#include "common/wire/score_frame.h"

namespace weir::worker {
namespace {

// The batch stays with its thread until the rows are read, so a pull is only a reminder of it.
struct EmbeddedPull : RowPull {
  const data::Batch* batch = nullptr;
  bool read_only = false;
};

constexpr cluster::Seat kSelf{0, 0};

}  // namespace

EmbeddedClient::EmbeddedClient(const v1::Config& config, const ModelLayout& layout)
    : config_(config),
      layout_(layout),
      dense_rule_(store::MakeUpdateRule(config.update().dense())),
      row_rule_(store::MakeUpdateRule(config.update().rows())),
      values_(static_cast<size_t>(layout.flat_element_count())),
      state_(static_cast<size_t>(layout.flat_element_count() * dense_rule_->StatePerElement())),
      tensor_mutexes_(layout.tensors().size()),
      director_(cluster::PlanRun(config)) {
  for (const TensorSpec& tensor : layout.tensors()) {
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
      values_[static_cast<size_t>(tensor.offset + i)] = InitialDenseValue(layout.seed(), tensor, i);
    }
  }
  dense_rule_->InitialState(state_.span());
  for (int32_t i = 0; i < config.cluster().row_partitions(); ++i) {
    partitions_.push_back(std::make_unique<RowPartitionSlot>(layout, *row_rule_));
  }
}

EmbeddedClient::RowPartitionSlot& EmbeddedClient::PartitionOf(uint32_t table, uint64_t id) {
  return *partitions_[RowPartition(table, id, static_cast<uint32_t>(partitions_.size()))];
}

std::unique_ptr<RowPull> EmbeddedClient::PullRows(const data::Batch& batch, bool read_only) {
  auto pull = std::make_unique<EmbeddedPull>();
  pull->batch = &batch;
  pull->read_only = read_only;
  return pull;
}

Status EmbeddedClient::AwaitRows(RowPull* base, std::span<float> rows) {
  WEIR_RETURN_IF_ERROR(failure());
  const auto& pull = static_cast<EmbeddedPull&>(*base);
  const auto dimension = static_cast<size_t>(layout_.embedding_dimension());
  size_t position = 0;
  for (uint32_t table = 0; table < pull.batch->tables.size(); ++table) {
    for (const uint64_t id : pull.batch->tables[table].unique) {
      const std::span<float> out = rows.subspan(position++ * dimension, dimension);
      RowPartitionSlot& slot = PartitionOf(table, id);
      std::lock_guard lock(slot.mutex);
      if (pull.read_only) {
        slot.rows.ReadOrInitial(table, id, out);
      } else {
        const std::span<const float> row = slot.rows.FindOrCreate(table, id);
        std::copy(row.begin(), row.end(), out.begin());
      }
    }
  }
  return OkStatus();
}

Result<uint64_t> EmbeddedClient::Push(const StepGradients& step) {
  WEIR_RETURN_IF_ERROR(failure());
  ApplyDense(step.dense);
  ApplyRows(*step.batch, step.rows);
  return uint64_t{0};
}

void EmbeddedClient::ApplyDense(std::span<const float> gradients) {
  const auto state_per_element = static_cast<size_t>(dense_rule_->StatePerElement());
  for (const TensorSpec& tensor : layout_.tensors()) {
    const auto offset = static_cast<size_t>(tensor.offset);
    const auto count = static_cast<size_t>(tensor.element_count());
    std::lock_guard lock(tensor_mutexes_[tensor.id]);
    dense_rule_->ApplyDense(
        values_.span().subspan(offset, count),
        state_.span().subspan(offset * state_per_element, count * state_per_element),
        gradients.subspan(offset, count));
  }
}

void EmbeddedClient::ApplyRows(const data::Batch& batch, std::span<const float> gradients) {
  const auto dimension = static_cast<size_t>(layout_.embedding_dimension());
  size_t position = 0;
  for (uint32_t table = 0; table < batch.tables.size(); ++table) {
    for (const uint64_t id : batch.tables[table].unique) {
      RowPartitionSlot& slot = PartitionOf(table, id);
      std::lock_guard lock(slot.mutex);
      slot.rows.Apply(table, id, gradients.subspan(position++ * dimension, dimension));
    }
  }
}

Result<v1::WorkReply> EmbeddedClient::RequestWork(v1::WorkRequest request,
                                                  std::vector<Bytes> score_frames) {
  std::lock_guard lock(mutex_);
  if (!failure_.ok()) return failure_;
  const int64_t now_ms = Clock::Real().NowMs();
  report_ = request.report();
  for (const v1::FileEnd& end : request.file_ends()) director_.LearnEnd(kSelf, end);
  WEIR_RETURN_IF_ERROR(TakeCompletions(request, score_frames, now_ms));
  v1::WorkReply reply = director_.Next(kSelf, now_ms);
  director_.FillProgress(request.known_evaluations(), now_ms, reply.mutable_progress());
  *reply.mutable_progress()->mutable_merged() = report_;
  if (reply.has_finished()) FillRunReport(now_ms, reply.mutable_finished());
  return reply;
}

Status EmbeddedClient::TakeCompletions(const v1::WorkRequest& request,
                                       const std::vector<Bytes>& score_frames, int64_t now_ms) {
  size_t next_frame = 0;
  for (const v1::Completion& completion : request.completions()) {
    cluster::Scores scores;
    if (completion.has_scores()) {
      wire::FrameCursor cursor(score_frames[next_frame++]);
      WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, cursor.Next());
      WEIR_RETURN_IF_ERROR(wire::DecodeScores(frame, &scores.probabilities, &scores.labels));
    }
    director_.Complete(kSelf, completion, std::move(scores), now_ms);
  }
  return OkStatus();
}

void EmbeddedClient::FillRunReport(int64_t now_ms, v1::RunReport* report) const {
  report->set_mode("embedded");
  report->set_trainers(1);
  report->set_stages(1);
  report->set_seed(config_.run().seed());
  report->set_config_hash(config::ConfigHash(config_));
  director_.FillReport(now_ms, report);
  *report->mutable_total() = report_;
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
