#include "server/shard/row_strand.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "common/saved_model/frames.h"
#include "server/shard/dense_strand.h"
#include "server/shard/finite.h"
#include "server/shard/norm_bound.h"

namespace weir::server {
namespace {

// Each row once, in the order in which they come first.
RowGradients MeanOf(const std::vector<const RowGradients*>& parts, size_t worker_count,
                    size_t dimension) {
  RowGradients mean;
  std::map<std::pair<uint32_t, uint64_t>, size_t> places;  // in mean.values
  for (const RowGradients* part : parts) {
    for (const store::BatchRow& row : part->rows) {
      const auto [place, is_new] = places.try_emplace({row.table, row.id}, mean.values.size());
      if (is_new) {
        mean.rows.push_back({row.table, static_cast<uint32_t>(mean.rows.size()), row.id});
        mean.values.resize(mean.values.size() + dimension);
      }
      const float* const from = part->values.data() + row.position * dimension;
      for (size_t d = 0; d < dimension; ++d) mean.values[place->second + d] += from[d];
    }
  }
  for (float& value : mean.values) value /= static_cast<float>(worker_count);
  return mean;
}

}  // namespace

RowStrand::RowStrand(const ModelLayout& layout, const store::UpdateRule& rule, double max_push_norm,
                     size_t slot, StrandArena* arena)
    : dimension_(static_cast<size_t>(layout.embedding_dimension())),
      max_push_norm_(max_push_norm),
      rows_(layout, rule),
      slot_(slot),
      strand_(arena) {}

void RowStrand::Visit(std::shared_ptr<PendingStep> pending, Outbox* outbox) {
  strand_.Post([this, pending = std::move(pending), outbox]() mutable {
    Apply(pending.get());
    FinishShare(std::move(pending), outbox);
  });
}

void RowStrand::Apply(PendingStep* pending) {
  std::vector<const RowGradients*> sound;
  for (size_t i = 0; i < pending->contributions.size(); ++i) {
    RowGradients& gradients = pending->contributions[i].row_gradients[slot_];
    if (Status status = Check(gradients); !status.ok()) {
      pending->Fail(i, std::move(status));
      continue;
    }
    const uint32_t bounded = BoundRowNorms(max_push_norm_, dimension_, gradients.values);
    if (bounded > 0) pending->CountBounded(i, {.pieces = 0, .rows = bounded});
    sound.push_back(&gradients);
  }
  if (sound.empty()) return;
  if (pending->contributions.size() == 1) {
    return rows_.ApplyBatch(sound[0]->rows, sound[0]->values, pending->version);
  }
  const RowGradients mean = MeanOf(sound, pending->contributions.size(), dimension_);
  rows_.ApplyBatch(mean.rows, mean.values, pending->version);
}

// All of them are sound: a partition's share of a push is applied entirely or not at all.
Status RowStrand::Check(const RowGradients& gradients) const {
  if (AllFinite(gradients.values)) return OkStatus();
  const auto bad = std::find_if_not(gradients.values.begin(), gradients.values.end(),
                                    [](float x) { return std::isfinite(x); });
  const auto position = static_cast<size_t>(bad - gradients.values.begin());
  const store::BatchRow& row = gradients.rows[position / dimension_];
  return InvalidData(
      StrCat("a gradient of row ", row.id, " of table ", row.table, " is NaN or infinite"));
}

void RowStrand::BeginCut(const CutPlace& place) {
  strand_.Post([this, place] {
    cut_form_ = place.form;
    rows_.BeginCut(place.form == CutForm::kBits ? std::nullopt : std::optional(place.version));
  });
}

void RowStrand::SaveCut(std::shared_ptr<PendingSection> pending, std::shared_ptr<Outbox> outbox) {
  strand_.Post([this, pending = std::move(pending), outbox = std::move(outbox)]() mutable {
    const bool has_more = cut_form_ == CutForm::kBits
                              ? saved_model::AppendNumberedCutRows(&rows_, &pending->frames)
                              : saved_model::AppendCutRows(&rows_, &pending->frames);
    pending->next_row = has_more ? rows_.cut_rows_read() : 0;
    pending->row_count = rows_.cut_row_count();
    outbox->Put(std::move(pending));
  });
}

void RowStrand::EndCut() {
  strand_.Post([this] { rows_.EndCut(); });
}

void RowStrand::Read(std::shared_ptr<PendingRows> pending, Outbox* outbox) {
  strand_.Post([this, pending = std::move(pending), outbox]() mutable {
    for (PendingRows::Block& block : pending->blocks) {
      if (pending->read_only) {
        rows_.ReadBatchOrInitial(block.rows[slot_], pending->version, block.values);
      } else {
        rows_.ReadBatch(block.rows[slot_], pending->version, block.values);
      }
    }
    FinishShare(std::move(pending), outbox);
  });
}

}  // namespace weir::server
