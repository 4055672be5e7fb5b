#include "server/pulled_model.h"

#include <utility>

#include "common/base/strings.h"
#include "server/replies.h"

namespace weir::server {

Status PulledModel::Pull(const transport::PeerId& peer, const v1::ModelPull& pull) {
  wanted_ = {pull.place().strand(), pull.place().row()};
  peer_ = peer;
  request_id_ = pull.request_id();
  if (cut_ == nullptr || wanted_ < next_) {
    cut_.reset();
    cut_ = std::make_unique<ShardCut>(shard_, CutForm::kModel);
    next_ = {};
  }
  return AskNext();
}

Status PulledModel::AskNext() {
  asked_ = cut_->Ask(shard_->outbox());
  if (asked_ != nullptr && next_ <= wanted_) return OkStatus();
  YieldCut();
  return InvalidData(StrCat("section ", wanted_.strand, ":", wanted_.row,
                            " of the model, which this server does not have"));
}

std::optional<PulledModel::Reply> PulledModel::Take(
    const std::shared_ptr<PendingSection>& section) {
  if (cut_ == nullptr || section != asked_) return std::nullopt;
  const bool is_wanted = next_ == wanted_;
  if (section->next_row == 0) ++next_.strand;
  next_.row = section->next_row;
  if (!section->status.ok()) return Reply{peer_, section->status};
  if (!is_wanted) {
    const Status asked = AskNext();
    return asked.ok() ? std::nullopt : std::optional(Reply{peer_, asked});
  }
  v1::ModelReply reply;
  reply.set_request_id(request_id_);
  reply.set_version(cut_->steps());
  reply.set_row_version(cut_->row_steps());
  if (next_.strand < shard_->strand_count()) {
    reply.mutable_next()->set_strand(next_.strand);
    reply.mutable_next()->set_row(next_.row);
  } else {
    YieldCut();
  }
  return Reply{peer_, SectionReplyOf(std::move(reply), std::move(section->frames))};
}

}  // namespace weir::server
