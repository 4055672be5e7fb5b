#include "server/shard/row_strand.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "common/base/strings.h"
#include "common/saved_model/frames.h"
#include "server/shard/dense_strand.h"
#include "server/shard/finite.h"

namespace weir::server {
RowStrand::RowStrand(const ModelLayout& layout, const store::UpdateRule& rule, size_t slot,
                     StrandArena* arena)
    : dimension_(static_cast<size_t>(layout.embedding_dimension())),
      rows_(layout, rule),
      slot_(slot),
      strand_(arena) {}

void RowStrand::Visit(std::shared_ptr<PendingAnswer> pending, Outbox* outbox) {
  strand_.Post([this, pending = std::move(pending), outbox]() mutable {
    if (Status status = Apply(pending->row_gradients[slot_], pending->version); !status.ok()) {
      pending->Fail(std::move(status));
    }
    FinishShare(std::move(pending), outbox);
  });
}

Status RowStrand::Apply(const RowGradients& gradients, uint64_t version) {
  WEIR_RETURN_IF_ERROR(Check(gradients));
  rows_.ApplyBatch(gradients.rows, gradients.values, version);
  return OkStatus();
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

void RowStrand::Save(std::shared_ptr<PendingSection> pending, Outbox* outbox) {
  strand_.Post([this, pending = std::move(pending), outbox]() mutable {
    pending->next_row =
        saved_model::AppendRows(pending->row, pending->version, &rows_, &pending->frames);
    outbox->Put(std::move(pending));
  });
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
