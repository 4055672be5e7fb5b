#include "server/pulled_model.h"

#include <utility>

#include "common/base/strings.h"
#include "server/replies.h"

namespace weir::server {
namespace {

constexpr int64_t kTellMs = 1000;

}  // namespace

void PulledModel::Pull(const transport::PeerId& peer, const v1::ModelPull& pull) {
  wanted_ = Place{pull.place().strand(), pull.place().row()};
  peer_ = peer;
  request_id_ = pull.request_id();
  if (*wanted_ < next_) YieldCut();
}

std::optional<PulledModel::Reply> PulledModel::Step(const std::function<bool()>& may_cut) {
  if (!wanted_ || asked_ != nullptr) return std::nullopt;
  if (cut_ == nullptr) {
    if (may_cut && !may_cut()) return std::nullopt;
    cut_ = std::make_unique<ShardCut>(shard_, CutForm::kModel);
    next_ = {};
  }
  asked_ = cut_->Ask(shard_->outbox());
  if (asked_ != nullptr && next_ <= *wanted_) return std::nullopt;
  YieldCut();
  const Place place = *std::exchange(wanted_, std::nullopt);
  return Reply{peer_, InvalidData(StrCat("section ", place.strand, ":", place.row,
                                         " of the model, which this server does not have"))};
}

std::optional<PulledModel::Reply> PulledModel::Take(
    const std::shared_ptr<PendingSection>& section) {
  if (asked_ == nullptr || section != asked_) return std::nullopt;
  asked_.reset();
  const Place place = next_;
  if (section->next_row == 0) ++next_.strand;
  next_.row = section->next_row;
  if (!section->status.ok()) {
    wanted_.reset();
    return Reply{peer_, section->status};
  }
  if (wanted_ != place) return std::nullopt;
  wanted_.reset();
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

std::optional<transport::PeerId> PulledModel::TakeKeptWaiting(int64_t now_ms) {
  if (!wanted_ || cut_ != nullptr || now_ms - told_ms_ < kTellMs) return std::nullopt;
  told_ms_ = now_ms;
  return peer_;
}

void PulledModel::YieldCut() {
  cut_.reset();
  asked_.reset();
  next_ = {};
}

}  // namespace weir::server
