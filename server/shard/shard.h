// What one server owns: its pieces and row partitions, each on a strand, and for each stage of the
// model the number of the last push that was queued on its strands. A stage's steps count for its
// own parameters and their rules alone; a worker with the whole model steps all of them.
//
// Place in the life of a batch: dispatcher -> **strands** -> outbox.
// Thread rule: I/O thread only, except the strands' own work. Owns arena, strands, update rules.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"
#include "common/saved_model/saved_model.h"
#include "server/shard/cut_summary.h"
#include "server/shard/dense_strand.h"
#include "server/shard/load_progress.h"
#include "server/shard/pending.h"
#include "server/shard/row_strand.h"
#include "server/shard/shard_options.h"

namespace weir::server {

class Shard {
 public:
  // Makes the initial values on the arena's threads and the caller's. outbox outlives the shard.
  Shard(const v1::Config& config, const ModelLayout& layout, uint32_t shard_index, Outbox* outbox,
        const ShardOptions& options = {});
  ~Shard();

  // Takes over what this server owns of a saved model, before the first push. FailedPrecondition
  // when it is another model. progress: hears of each byte of its parameters; Interrupted where it
  // is cancelled.
  Status Load(const saved_model::SavedModel& model, const v1::Config& config,
              LoadProgress* progress);

  // Makes a fresh shard what another was at a cut (shard_cut.h). InvalidData when the sections are
  // not all of it; then the shard is of no use.
  Status Restore(const CutSummary& summary, const NextSection& next);

  // Sorts the frames of a push's messages by strands. InvalidData for anything that this server
  // does not serve, or this stage does not have.
  Result<Contribution> Route(StageId stage, std::vector<transport::Message> push) const;

  // The same of a proposal's. Each piece once at most.
  Result<AgreedElements> RouteProposal(const transport::Message& proposal) const;

  // Queues a step of routed pushes, or answers without one. A step gets the stage's next version.
  void Post(std::shared_ptr<PendingStep> pending);

  // Sorts the request's ROW_IDS frames by partition and queues the reads.
  Status PostRows(std::shared_ptr<PendingRows> pending, const transport::Message& message);

  // Steps of the stage queued so far.
  uint64_t version(StageId stage = {}) const { return versions_[stage.value_or(0)]; }
  // Of the stage that has the rows.
  uint64_t row_version() const { return versions_[layout_.row_stage()]; }
  const v1::RuleStarts& rule_starts() const { return rule_starts_; }
  const ModelLayout& layout() const { return layout_; }
  size_t max_message_bytes() const { return static_cast<size_t>(max_message_bytes_); }
  // How rows look on the way to a trainer.
  wire::ValueCoding row_values() const { return row_values_; }

  // What was queued waits for one of these where strands were idle: see StrandArena.
  bool has_ready() const { return arena_.has_ready(); }
  void Work(const std::function<bool()>& may_go_on) { arena_.Work(may_go_on); }
  void HandOver() { arena_.HandOver(); }

  // Where what strands finish goes, and how many of them there are.
  Outbox* outbox() const { return outbox_; }
  size_t strand_count() const { return dense_.size() + rows_.size(); }

  // The rest is for tests and reports, with nothing in flight.
  void WaitIdle() { arena_.WaitIdle(); }
  // See StrandArena.
  void SetLastWords(std::function<void(const Status& why)> say);
  const std::vector<std::unique_ptr<DenseStrand>>& dense_strands() const { return dense_; }
  uint32_t StageOf(size_t dense_strand) const { return dense_stages_[dense_strand]; }
  const std::vector<std::unique_ptr<RowStrand>>& row_strands() const { return rows_; }
  int64_t row_count() const;

 private:
  class Restoring;
  void BeginRules(const v1::RuleStarts& starts);
  void MakePieces(double max_push_norm, wire::ValueCoding answer_values,
                  const ShardOptions& options);
  Result<size_t> SlotOf(const wire::FrameHeader& header) const;  // the dense strand with its piece
  Status RouteDense(StageId stage, const wire::FrameView& frame, Contribution* contribution) const;
  // next_rows: of each table, behind those of the push's frames before this one.
  Status RouteRows(StageId stage, const wire::FrameView& frame, std::vector<uint64_t>* next_rows,
                   Contribution* contribution) const;
  // row_count, frame_count: of the request's frames before this one.
  Status RouteRowIds(const wire::FrameView& frame, size_t row_count, size_t frame_count,
                     PendingRows* pending) const;
  static bool Has(StageId worker, uint32_t stage) { return !worker || *worker == stage; }

  const ModelLayout& layout_;
  const uint32_t shard_index_;
  const uint32_t partition_count_;
  const int64_t max_message_bytes_;
  const wire::ValueCoding row_values_;
  Outbox* const outbox_;
  std::unique_ptr<store::UpdateRule> dense_rule_;
  std::unique_ptr<store::UpdateRule> row_rule_;
  v1::RuleStarts rule_starts_;
  StrandArena arena_;
  std::vector<std::unique_ptr<DenseStrand>> dense_;
  std::vector<std::unique_ptr<RowStrand>> rows_;
  std::map<std::pair<uint32_t, uint32_t>, size_t> dense_slots_;  // (tensor, begin)
  std::vector<uint32_t> dense_stages_;                           // per dense strand
  std::vector<uint64_t> versions_;                               // per stage
};

}  // namespace weir::server
