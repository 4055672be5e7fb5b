#include "server/shard/shard.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/saved_model/warm_start.h"
#include "common/session/body.h"
#include "common/wire/row_frame.h"
#include "server/shard/norm_bound.h"

namespace weir::server {
namespace {

bool HasRows(const PendingStep& step, size_t partition) {
  return std::ranges::any_of(step.contributions, [&](const Contribution& contribution) {
    return !contribution.row_gradients[partition].rows.empty();
  });
}

bool HasRows(const PendingRows& pending, size_t partition) {
  return std::ranges::any_of(pending.blocks,
                             [&](const auto& block) { return !block.rows[partition].empty(); });
}

uint64_t ValueBytes(const PieceSpec& piece) {
  return static_cast<uint64_t>(piece.element_count) * sizeof(float);
}

wire::ValueCoding CodingOf(v1::ValueCoding coding) {
  return coding == v1::BF16 ? wire::ValueCoding::kBf16 : wire::ValueCoding::kF32;
}

}  // namespace

Shard::Shard(const v1::Config& config, const ModelLayout& layout, uint32_t shard_index,
             Outbox* outbox, const ShardOptions& options)
    : layout_(layout),
      shard_index_(shard_index),
      partition_count_(static_cast<uint32_t>(config.cluster().row_partitions())),
      max_message_bytes_(config.cluster().max_message_bytes()),
      row_values_(CodingOf(config.cluster().row_values())),
      outbox_(outbox),
      dense_rule_(store::MakeUpdateRule(config.update().dense())),
      row_rule_(store::MakeUpdateRule(config.update().rows())),
      arena_(config.cluster().server_threads(), options.executor),
      versions_(layout.stages().size()) {
  const NormBounds bounds(config.update());
  MakePieces(bounds.piece, CodingOf(config.cluster().answer_values()), options);
  for (size_t slot = 0; slot < partition_count_; ++slot) {
    rows_.push_back(std::make_unique<RowStrand>(layout, *row_rule_, bounds.row, slot, &arena_));
  }
}

void Shard::MakePieces(double max_push_norm, wire::ValueCoding answer_values,
                       const ShardOptions& options) {
  LoadProgress* const progress = options.progress;
  uint64_t total_bytes = 0;
  std::vector<const PieceSpec*> own;
  for (const PieceSpec& piece : layout_.pieces()) {
    if (piece.server != shard_index_) continue;
    dense_slots_[{piece.tensor, static_cast<uint32_t>(piece.begin)}] = own.size();
    dense_stages_.push_back(layout_.StageOfTensor(piece.tensor));
    own.push_back(&piece);
    total_bytes += ValueBytes(piece);
  }
  const bool tells = progress != nullptr && !options.awaits_load;  // else loading does
  if (tells) progress->Expect(total_bytes);
  dense_.resize(own.size());
  arena_.ForEach(own.size(), [&](size_t slot) {
    if (progress != nullptr && progress->is_cancelled()) return;
    dense_[slot] = std::make_unique<DenseStrand>(layout_, *own[slot], *dense_rule_, max_push_norm,
                                                 answer_values, slot, options.awaits_load, &arena_);
    if (tells) progress->Add(ValueBytes(*own[slot]));
  });
}

Shard::~Shard() { arena_.WaitIdle(); }

Status Shard::Load(const saved_model::SavedModel& model, const v1::Config& config,
                   LoadProgress* progress) {
  CHECK_EQ(versions_[0], 0u);
  const uint32_t server_count = layout_.server_count();
  WEIR_RETURN_IF_ERROR(saved_model::TakeOver(
      model, config, layout_,
      {.advance =
           [&](uint64_t bytes) {
             progress->Add(bytes);
             return progress->is_cancelled() ? Interrupted("stopped") : OkStatus();
           },
       .wants_row =
           [&](uint32_t table, uint64_t id) {
             return server_count == 1 || RowServer(table, id, server_count) == shard_index_;
           },
       .begin_rules = [&](const v1::RuleStarts& starts) { BeginRules(starts); },
       .start_rows = [](uint64_t) {},  // BeginRules does
       .piece =
           [&](const PieceSpec& spec, std::span<const float> values, std::span<const float> state) {
             if (spec.server != shard_index_) return;
             const auto slot = dense_slots_.at({spec.tensor, static_cast<uint32_t>(spec.begin)});
             dense_[slot]->piece().Load(values, state);
           },
       .row =
           [&](uint32_t table, uint64_t id, std::span<const float> values,
               std::span<const float> state) {
             rows_[RowPartition(table, id, partition_count_)]->rows().Load(table, id, values,
                                                                           state);
           }}));
  std::ranges::fill(versions_, model.manifest().steps());
  return OkStatus();
}

void Shard::BeginRules(const v1::RuleStarts& starts) {
  rule_starts_ = starts;
  dense_rule_->BeginAfter(starts.dense());
  row_rule_->BeginAfter(starts.rows());
  for (const auto& strand : rows_) strand->rows().StartAt(starts.untouched_rows());
}

void Shard::Post(std::shared_ptr<PendingStep> pending) {
  const StageId stage = pending->stage;
  if (pending->is_step) {
    for (uint32_t i = 0; i < versions_.size(); ++i) versions_[i] += Has(stage, i) ? 1 : 0;
  }
  pending->version = version(stage);
  for (PendingAnswer& answer : pending->answers) answer.values.resize(dense_.size());
  std::vector<DenseStrand*> visited;
  for (size_t slot = 0; slot < dense_.size(); ++slot) {
    if (Has(stage, dense_stages_[slot])) visited.push_back(dense_[slot].get());
  }
  std::vector<RowStrand*> touched;
  for (size_t slot = 0; slot < rows_.size(); ++slot) {
    if (HasRows(*pending, slot)) touched.push_back(rows_[slot].get());
  }
  pending->left = static_cast<int>(visited.size() + touched.size());
  if (pending->left == 0) return outbox_->Put(std::move(pending));
  for (DenseStrand* strand : visited) strand->Visit(pending, outbox_);
  for (RowStrand* strand : touched) strand->Visit(pending, outbox_);
}

Status Shard::PostRows(std::shared_ptr<PendingRows> pending, const transport::Message& message) {
  size_t row_count = 0, frame_count = 0;
  session::BodyReader reader(message);
  for (; !reader.done(); ++frame_count) {
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, reader.Next());
    WEIR_RETURN_IF_ERROR(RouteRowIds(frame, row_count, frame_count, pending.get()));
    row_count += frame.header.count;
  }
  pending->version = row_version();
  for (PendingRows::Block& block : pending->blocks) {
    block.values.resize(block.row_count * static_cast<size_t>(layout_.embedding_dimension()));
  }
  std::vector<RowStrand*> touched;
  for (size_t slot = 0; slot < rows_.size(); ++slot) {
    if (HasRows(*pending, slot)) touched.push_back(rows_[slot].get());
  }
  pending->left = static_cast<int>(touched.size());
  if (touched.empty()) {
    outbox_->Put(std::move(pending));
    return OkStatus();
  }
  for (RowStrand* strand : touched) strand->Read(pending, outbox_);
  return OkStatus();
}

void Shard::SetLastWords(std::function<void(const Status& why)> say) {
  arena_.SetLastWords(std::move(say));
}

int64_t Shard::row_count() const {
  int64_t total = 0;
  for (const auto& strand : rows_) total += strand->rows().row_count();
  return total;
}

}  // namespace weir::server
