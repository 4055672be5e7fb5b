#include "server/round_gate.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/strings.h"

namespace weir::server {
namespace {

// One thread asks for one batch ahead.
constexpr size_t kMostPulls = 16;

}  // namespace

Status RoundGate::Keep(Kept kept) {
  const uint64_t round = kept.push.round();
  const std::vector<uint32_t> members(kept.push.members().begin(), kept.push.members().end());
  using Verdict = cluster::RoundBook::Verdict;
  switch (book_.Take(kept.trainer, round, members)) {
    case Verdict::kKept:
      kept_.insert_or_assign(kept.trainer, std::move(kept));
      return OkStatus();
    case Verdict::kLate:
      return FailedPrecondition(StrCat("round ", round, " went on without trainer ", kept.trainer,
                                       ", which was silent for too long; start it again"));
    case Verdict::kNoMember:
      return InvalidData(
          StrCat("a push of round ", round, ", in which trainer ", kept.trainer, " is not"));
    case Verdict::kOtherMembers:
      return InvalidData(StrCat("a push of round ", round,
                                " with other trainers in it than others "
                                "say"));
  }
  return OkStatus();
}

void RoundGate::Drop(uint32_t trainer) {
  book_.Drop(trainer);
  kept_.erase(trainer);
  pulls_.erase(trainer);
}

Status RoundGate::KeepPull(uint32_t trainer, Pull pull) {
  std::vector<Pull>& pulls = pulls_[trainer];
  if (pulls.size() >= kMostPulls) {
    return InvalidData(StrCat("more than ", kMostPulls, " row pulls behind one push of a round"));
  }
  pulls.push_back(std::move(pull));
  return OkStatus();
}

std::optional<RoundGate::Round> RoundGate::Close() {
  const auto closed = book_.Close();
  if (!closed) return std::nullopt;
  Round round;
  for (const uint32_t trainer : closed->trainers) {
    round.pushes.push_back(std::move(kept_.extract(trainer).mapped()));
    if (auto pulls = pulls_.extract(trainer)) {
      std::ranges::move(pulls.mapped(), std::back_inserter(round.pulls));
    }
  }
  return round;
}

std::vector<RoundGate::Notice> RoundGate::TakeNotices(int64_t now_ms) {
  if (now_ms < next_notices_ms_) return {};
  next_notices_ms_ = now_ms + notice_interval_ms_;
  return Notices();
}

std::vector<RoundGate::Notice> RoundGate::Notices() const {
  const std::vector<uint32_t> awaited = book_.Awaited();
  std::vector<Notice> notices;
  for (const auto& [trainer, kept] : kept_) {
    Notice& notice = notices.emplace_back(Notice{kept.peer, {}});
    notice.notice.set_connection(kept.push.connection());
    notice.notice.set_round(kept.push.round());
    notice.notice.mutable_awaited()->Add(awaited.begin(), awaited.end());
  }
  return notices;
}

}  // namespace weir::server
