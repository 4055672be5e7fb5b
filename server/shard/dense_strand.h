// One piece on its strand: applies what pushes bring and writes down what changed since the pushing
// session was last answered.
//
// Place in the life of a batch: push -> **decode, apply, stamp, answer**.
// Thread rule: Visit from the I/O thread; the piece belongs to the strand.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/store/piece.h"
#include "common/store/update_rule.h"
#include "common/wire/value_coding.h"
#include "server/shard/cut_form.h"
#include "server/shard/pending.h"
#include "server/shard/strand.h"

namespace weir::server {

class DenseStrand {
 public:
  // slot: this strand's index in PendingStep. awaits_load: as of store::Piece.
  DenseStrand(const ModelLayout& layout, const PieceSpec& spec, const store::UpdateRule& rule,
              double max_push_norm, wire::ValueCoding answer_values, size_t slot, bool awaits_load,
              StrandArena* arena);

  // Queues this strand's part of the work, or does it if that is small and the strand idle.
  void Visit(std::shared_ptr<PendingStep> pending, Outbox* outbox);

  // Queues writing it down as it is then; handing that over, once; and forgetting it.
  void BeginCut(const CutPlace& place);
  void SaveCut(std::shared_ptr<PendingSection> pending, std::shared_ptr<Outbox> outbox);
  void EndCut();
  // Before the first push.
  store::Piece& piece() { return piece_; }
  const store::Piece& piece() const { return piece_; }  // when the strand is idle
  int64_t memory_bytes() const { return piece_.memory_bytes(); }

 private:
  void Apply(PendingStep* pending);
  std::span<const uint32_t> AgreedOf(const PendingStep& step) const;
  // What changed after version `since`, of a step that is done.
  void Answer(const PendingStep& step, uint64_t since, Bytes* out) const;
  void AnswerChanges(uint64_t since, Bytes* out) const;
  // False: other elements have changed since then too.
  bool AnswerAgreed(std::span<const uint32_t> agreed, uint64_t since, Bytes* out) const;

  const std::string tensor_name_;
  const double max_push_norm_;
  store::Piece piece_;
  Bytes cut_frames_;
  Status cut_status_;
  const wire::ValueCoding answer_values_;
  const size_t slot_;
  Strand strand_;
};

// Counts the task down; the last strand of it hands it over.
template <typename Pending>
void FinishShare(std::shared_ptr<Pending> pending, Outbox* outbox) {
  if (pending->left.fetch_sub(1, std::memory_order_acq_rel) == 1) outbox->Put(std::move(pending));
}

}  // namespace weir::server
