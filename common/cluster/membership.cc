#include "common/cluster/membership.h"

#include <algorithm>

#include "common/base/strings.h"

namespace weir::cluster {

std::string Name(Seat seat) {
  return seat.stage == 0 ? StrCat("trainer ", seat.trainer)
                         : StrCat("trainer ", seat.trainer, " stage ", seat.stage);
}

Membership::Admission Membership::Join(Seat seat, uint64_t nonce, int64_t now_ms) {
  const auto found = members_.find(seat);
  const Member known = found == members_.end() ? Member() : found->second;
  if (known.present && known.nonce == nonce) {
    return {.incarnation = known.incarnation, .epoch = epoch_, .silent_ms = 0};
  }
  Admission admission;
  if (known.present) {
    admission.silent_ms = now_ms - known.heard_ms;
    admission.wait_ms = ClaimableMs(known) - now_ms;
    if (admission.wait_ms > 0) return admission;
  }
  admission.incarnation = known.incarnation + 1;
  members_.Change(seat) = {nonce, admission.incarnation, now_ms, true, std::nullopt};
  admission.epoch = ++epoch_;
  return admission;
}

bool Membership::Heard(Seat seat, uint64_t incarnation, int64_t now_ms) {
  Member* const member = members_.FindUnsaved(seat);
  if (member == nullptr || !member->present || member->incarnation != incarnation) return false;
  member->heard_ms = now_ms;
  member->claimable_ms.reset();
  return true;
}

void Membership::Parted(Seat seat, uint64_t incarnation, int64_t now_ms) {
  Member* const member = members_.FindUnsaved(seat);
  if (member == nullptr || !member->present || member->incarnation != incarnation) return;
  member->claimable_ms = now_ms + kPartedMs + 1;
}

int64_t Membership::ClaimableMs(const Member& member) const {
  const int64_t silent_ms = member.heard_ms + std::min(member_timeout_ms_, kClaimedSilenceMs) + 1;
  return std::min(silent_ms, member.claimable_ms.value_or(silent_ms));
}

void Membership::Leave(Seat seat) {
  if (!IsMember(seat)) return;
  members_.Change(seat).present = false;
  ++epoch_;
}

std::vector<Seat> Membership::Expire(int64_t now_ms) {
  std::vector<Seat> expired;
  for (const auto& [seat, member] : members_) {
    if (member.present && now_ms - member.heard_ms > member_timeout_ms_) expired.push_back(seat);
  }
  for (const Seat seat : expired) Leave(seat);
  return expired;
}

bool Membership::IsMember(Seat seat) const {
  const auto found = members_.find(seat);
  return found != members_.end() && found->second.present;
}

uint64_t Membership::LastIncarnation(Seat seat) const {
  const auto found = members_.find(seat);
  return found == members_.end() ? 0 : found->second.incarnation;
}

size_t Membership::member_count() const {
  return static_cast<size_t>(std::count_if(members_.begin(), members_.end(),
                                           [](const auto& entry) { return entry.second.present; }));
}

void Membership::SaveChanges(SavedParts* parts) {
  saved_epoch_.SaveChanges(epoch_, parts);
  members_.SaveChanges(parts);
}

Status Membership::Load(PartSource* source, int64_t now_ms) {
  WEIR_RETURN_IF_ERROR(saved_epoch_.Load(source, &epoch_));
  WEIR_RETURN_IF_ERROR(members_.Load(source));
  for (const auto& entry : members_) {
    Member& member = *members_.FindUnsaved(entry.first);
    member.heard_ms = now_ms;
    member.claimable_ms = now_ms + kLostMs + 1;
  }
  return OkStatus();
}

}  // namespace weir::cluster
