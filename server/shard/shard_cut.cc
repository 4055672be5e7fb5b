#include "server/shard/shard_cut.h"

#include <utility>

namespace weir::server {

ShardCut::ShardCut(Shard* shard, CutForm form) : shard_(shard) {
  for (uint32_t stage = 0; stage < shard->layout().stages().size(); ++stage) {
    summary_.versions.push_back(shard->version(stage));
  }
  summary_.rule_starts = shard->rule_starts();
  for (const auto& strand : shard->row_strands()) strand->BeginCut({form, row_steps(), steps()});
  for (size_t i = 0; i < shard->dense_strands().size(); ++i) {
    const uint64_t version = summary_.versions[shard->StageOf(i)];
    shard->dense_strands()[i]->BeginCut({form, version, steps()});
  }
}

ShardCut::~ShardCut() {
  for (const auto& strand : shard_->dense_strands()) strand->EndCut();
  for (const auto& strand : shard_->row_strands()) strand->EndCut();
}

std::shared_ptr<PendingSection> ShardCut::Ask(std::shared_ptr<Outbox> outbox) {
  const size_t dense_count = shard_->dense_strands().size();
  if (asked_ != nullptr && asked_->next_row == 0) {
    if (strand_ >= dense_count) summary_.row_counts.push_back(asked_->row_count);
    ++strand_;
  }
  asked_.reset();
  if (strand_ == dense_count + shard_->row_strands().size()) return nullptr;
  asked_ = std::make_shared<PendingSection>();
  if (strand_ < dense_count) {
    shard_->dense_strands()[strand_]->SaveCut(asked_, std::move(outbox));
  } else {
    shard_->row_strands()[strand_ - dense_count]->SaveCut(asked_, std::move(outbox));
  }
  return asked_;
}

}  // namespace weir::server
