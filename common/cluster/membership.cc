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
    if (admission.silent_ms <= claim_timeout_ms()) return admission;
  }
  admission.incarnation = known.incarnation + 1;
  members_.Change(seat) = {nonce, admission.incarnation, now_ms, true};
  admission.epoch = ++epoch_;
  return admission;
}

bool Membership::Heard(Seat seat, uint64_t incarnation, int64_t now_ms) {
  Member* const member = members_.FindUnsaved(seat);
  if (member == nullptr || !member->present || member->incarnation != incarnation) return false;
  member->heard_ms = now_ms;
  return true;
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
  for (const auto& entry : members_) members_.FindUnsaved(entry.first)->heard_ms = now_ms;
  return OkStatus();
}

}  // namespace weir::cluster
