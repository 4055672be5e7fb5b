#include "server/grant_list.h"

#include <utility>

namespace weir::server {

void GrantList::Set(const v1::ShardReply& reply) {
  std::map<cluster::Seat, uint64_t> incarnations;
  for (const v1::Grant& grant : reply.grants()) {
    incarnations[{grant.trainer(), grant.stage()}] = grant.incarnation();
  }
  const MutexLock lock(mutex_);
  incarnations_ = std::move(incarnations);
}

bool GrantList::Has(cluster::Seat seat, uint64_t incarnation) {
  const MutexLock lock(mutex_);
  const auto found = incarnations_.find(seat);
  if (found != incarnations_.end() && found->second == incarnation) return true;
  if (!std::exchange(has_wish_, true) && wake_) wake_();
  return false;
}

void GrantList::OnWish(std::function<void()> wake) {
  const MutexLock lock(mutex_);
  wake_ = std::move(wake);
}

bool GrantList::has_wish() const {
  const MutexLock lock(mutex_);
  return has_wish_;
}

void GrantList::ClearWish() {
  const MutexLock lock(mutex_);
  has_wish_ = false;
}

}  // namespace weir::server
