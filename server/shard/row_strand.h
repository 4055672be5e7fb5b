// One row partition on its strand: reads rows for pulls, applies row gradients of pushes.
//
// Place in the life of a batch: row pull -> **read or create** ; push -> **apply**.
// Thread rule: Visit and Read from the I/O thread; the rows belong to the strand.
#pragma once

#include <memory>

#include "common/store/row_table.h"
#include "server/shard/cut_form.h"
#include "server/shard/pending.h"
#include "server/shard/strand.h"

namespace weir::server {

class RowStrand {
 public:
  // slot: this partition's index in the pending work.
  RowStrand(const ModelLayout& layout, const store::UpdateRule& rule, double max_push_norm,
            size_t slot, StrandArena* arena);

  void Visit(std::shared_ptr<PendingStep> pending, Outbox* outbox);
  void Read(std::shared_ptr<PendingRows> pending, Outbox* outbox);

  // Queues the beginning of a cut, writing down its next rows, and its end.
  void BeginCut(const CutPlace& place);
  void SaveCut(std::shared_ptr<PendingSection> pending, std::shared_ptr<Outbox> outbox);
  void EndCut();
  // Before the first push.
  store::RowPartitionStore& rows() { return rows_; }
  const store::RowPartitionStore& rows() const { return rows_; }  // when the strand is idle

 private:
  void Apply(PendingStep* pending);
  Status Check(const RowGradients& gradients) const;

  const size_t dimension_;
  const double max_push_norm_;
  store::RowPartitionStore rows_;
  CutForm cut_form_ = CutForm::kBits;
  const size_t slot_;
  Strand strand_;
};

}  // namespace weir::server
