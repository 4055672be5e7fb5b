#include "server/rounds.h"

#include <algorithm>
#include <iterator>

namespace weir::server {

void Rounds::Drop(uint32_t trainer) {
  proposals_.Drop(trainer);
  pushes_.Drop(trainer);
  pulls_.Drop(trainer);
}

void Rounds::Leave(const std::vector<v1::Departure>& departures) {
  for (const v1::Departure& departure : departures) {
    proposals_.Leave(departure);
    pushes_.Leave(departure);
  }
}

std::vector<AddressedNotice> Rounds::TakeNotices(int64_t now_ms) {
  if (now_ms < next_notices_ms_) return {};
  next_notices_ms_ = now_ms + notice_interval_ms_;
  std::vector<AddressedNotice> notices = pushes_.Notices();
  std::ranges::move(proposals_.Notices(), std::back_inserter(notices));
  return notices;
}

}  // namespace weir::server
