// A shard as it was at one push, written down while it goes on: a marker in the queue of every
// strand stands behind the pushes that it has. Pieces are copied at the marker. Rows are read some
// at a time, whenever the ones before were taken, so that pushes have their turn between, and a row
// that changes before is kept as it was (RowPartitionStore::BeginCut). Form says for whom it is.
//
//   ShardCut cut(&shard);                  // I/O thread, between two steps
//   while (auto section = cut.Ask(&outbox)) { ...when the outbox has it: write section->frames }
//   cut.summary()                          // written, too, it makes the sections a whole
//
// Of each section the frames are written, none where there are none; Shard::Restore wants those of
// bits back as they were given.
//
// Place in the life of a batch: beside all of it.
// Thread rule: made where steps are posted; then one thread at a time. The shard outlives it, and
// has one at a time. As with steps, who calls sees to it that Work or HandOver comes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/shard/cut_form.h"
#include "server/shard/cut_summary.h"
#include "server/shard/pending.h"
#include "server/shard/shard.h"

namespace weir::server {

class ShardCut {
 public:
  explicit ShardCut(Shard* shard, CutForm form = CutForm::kBits);
  ~ShardCut();  // whatever was not taken is forgotten
  ShardCut(const ShardCut&) = delete;
  ShardCut& operator=(const ShardCut&) = delete;

  // Asks for the next section, once the one before has come out of its outbox, which lives until
  // what was asked for is there, or which the caller sees to. Null: that was all.
  std::shared_ptr<PendingSection> Ask(std::shared_ptr<Outbox> outbox);
  std::shared_ptr<PendingSection> Ask(Outbox* outbox) {
    return Ask(std::shared_ptr<Outbox>(std::shared_ptr<Outbox>(), outbox));
  }

  // Whole once Ask has given null; the versions are there from the start.
  const CutSummary& summary() const { return summary_; }
  // Of the stage that had taken most, and of the one with the rows.
  uint64_t steps() const { return std::ranges::max(summary_.versions); }
  uint64_t row_steps() const { return summary_.versions[shard_->layout().row_stage()]; }

 private:
  Shard* const shard_;
  CutSummary summary_;
  size_t strand_ = 0;  // whose sections are next
  std::shared_ptr<PendingSection> asked_;
};

}  // namespace weir::server
