#include "common/cluster/membership.h"

#include <algorithm>

#include "common/base/strings.h"

namespace weir::cluster {

std::string Name(Seat seat) {
  return seat.stage == 0 ? StrCat("trainer ", seat.trainer)
                         : StrCat("trainer ", seat.trainer, " stage ", seat.stage);
}

Membership::Admission Membership::Join(Seat seat, uint64_t nonce, int64_t now_ms) {
  Member& member = members_[seat];
  if (member.present && member.nonce == nonce) {
    return {.incarnation = member.incarnation, .epoch = epoch_, .silent_ms = 0};
  }
  Admission admission;
  if (member.present) {
    admission.silent_ms = now_ms - member.heard_ms;
    if (admission.silent_ms <= member_timeout_ms_) return admission;
  }
  member = {nonce, member.incarnation + 1, now_ms, true};
  admission.incarnation = member.incarnation;
  admission.epoch = ++epoch_;
  return admission;
}

bool Membership::Heard(Seat seat, uint64_t incarnation, int64_t now_ms) {
  const auto found = members_.find(seat);
  if (found == members_.end() || !found->second.present ||
      found->second.incarnation != incarnation) {
    return false;
  }
  found->second.heard_ms = now_ms;
  return true;
}

void Membership::Leave(Seat seat) {
  const auto found = members_.find(seat);
  if (found == members_.end() || !found->second.present) return;
  found->second.present = false;
  ++epoch_;
}

std::vector<Seat> Membership::Expire(int64_t now_ms) {
  std::vector<Seat> expired;
  for (auto& [seat, member] : members_) {
    if (!member.present || now_ms - member.heard_ms <= member_timeout_ms_) continue;
    member.present = false;
    ++epoch_;
    expired.push_back(seat);
  }
  return expired;
}

bool Membership::IsMember(Seat seat) const {
  const auto found = members_.find(seat);
  return found != members_.end() && found->second.present;
}

size_t Membership::member_count() const {
  return static_cast<size_t>(std::count_if(members_.begin(), members_.end(),
                                           [](const auto& entry) { return entry.second.present; }));
}

}  // namespace weir::cluster
