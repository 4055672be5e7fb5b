#include "server/row_strand.h"

#include <algorithm>
#include <cmath>

#include "common/base/strings.h"
#include "server/dense_strand.h"

namespace weir::server {

RowStrand::RowStrand(const ModelLayout& layout, const store::UpdateRule& rule, size_t slot,
                     StrandArena* arena)
    : dimension_(static_cast<size_t>(layout.embedding_dimension())),
      rows_(layout, rule),
      slot_(slot),
      strand_(arena) {}

void RowStrand::Visit(std::shared_ptr<PendingAnswer> pending, Outbox* outbox) {
  strand_.Post([this, pending = std::move(pending), outbox]() mutable {
    if (Status status = Apply(pending->row_gradients[slot_]); !status.ok()) {
      pending->Fail(std::move(status));
    }
    FinishPart(std::move(pending), outbox);
  });
}

Status RowStrand::Apply(const RowGradients& gradients) {
  WEIR_RETURN_IF_ERROR(Check(gradients));
  const std::span<const float> values(gradients.values);
  for (size_t i = 0; i < gradients.rows.size(); ++i) {
    const RowGradients::Row& row = gradients.rows[i];
    rows_.Apply(row.table, row.id, values.subspan(i * dimension_, dimension_));
  }
  return OkStatus();
}

// All of them are sound: a partition's share of a push is applied entirely or not at all.
Status RowStrand::Check(const RowGradients& gradients) const {
  const auto bad = std::find_if_not(gradients.values.begin(), gradients.values.end(),
                                    [](float x) { return std::isfinite(x); });
  if (bad == gradients.values.end()) return OkStatus();
  const auto position = static_cast<size_t>(bad - gradients.values.begin());
  const RowGradients::Row& row = gradients.rows[position / dimension_];
  return InvalidData(
      StrCat("a gradient of row ", row.id, " of table ", row.table, " is NaN or infinite"));
}

void RowStrand::Read(std::shared_ptr<PendingRows> pending, Outbox* outbox) {
  strand_.Post([this, pending = std::move(pending), outbox]() mutable {
    const std::span<float> values(pending->values);
    for (const PendingRows::Row& row : pending->rows[slot_]) {
      const std::span<float> out = values.subspan(row.position * dimension_, dimension_);
      if (pending->read_only) {
        rows_.ReadOrInitial(row.table, row.id, out);
      } else {
        const std::span<const float> found = rows_.FindOrCreate(row.table, row.id);
        std::copy(found.begin(), found.end(), out.begin());
      }
    }
    FinishPart(std::move(pending), outbox);
  });
}

}  // namespace weir::server
