#include "common/cluster/round_book.h"

#include <algorithm>
#include <iterator>

namespace weir::cluster {

RoundBook::Verdict RoundBook::Take(uint32_t trainer, uint64_t round,
                                   const std::vector<uint32_t>& members) {
  if (round <= last_closed_) return Verdict::kLate;
  if (!std::ranges::binary_search(members, trainer)) return Verdict::kNoMember;
  const auto found = open_.find(round);
  if (found != open_.end() && found->second.members != members) return Verdict::kOtherMembers;
  Drop(trainer);
  Open& open = open_[round];
  open.members = members;
  open.pushed.insert(trainer);
  return Verdict::kKept;
}

void RoundBook::Drop(uint32_t trainer) {
  for (auto entry = open_.begin(); entry != open_.end();) {
    entry->second.pushed.erase(trainer);
    entry = entry->second.pushed.empty() ? open_.erase(entry) : std::next(entry);
  }
}

void RoundBook::Leave(uint32_t trainer, uint64_t last_round) {
  uint64_t& until = gone_until_[trainer];
  until = std::max(until, last_round);
}

bool RoundBook::IsAwaited(uint64_t round, const Open& open, uint32_t trainer) const {
  if (open.pushed.contains(trainer)) return false;
  const auto gone = gone_until_.find(trainer);
  return gone == gone_until_.end() || gone->second < round;
}

std::vector<uint32_t> RoundBook::Awaited() const {
  std::vector<uint32_t> awaited;
  if (open_.empty()) return awaited;
  const auto& [round, open] = *open_.begin();
  for (const uint32_t trainer : open.members) {
    if (IsAwaited(round, open, trainer)) awaited.push_back(trainer);
  }
  return awaited;
}

std::optional<RoundBook::Round> RoundBook::Close() {
  if (open_.empty() || !Awaited().empty()) return std::nullopt;
  const auto first = open_.begin();
  Round round{first->first, {first->second.pushed.begin(), first->second.pushed.end()}};
  last_closed_ = round.number;
  open_.erase(first);
  return round;
}

}  // namespace weir::cluster
