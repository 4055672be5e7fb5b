// Pushes and their credits: for compute threads.

#include <utility>

#include "common/base/check.h"
#include "worker/link/server_link.h"

namespace weir::worker {

bool ServerLink::HasCreditLocked() const {
  const v1::ClusterConfig& cluster = config_.cluster();
  // One push may always be under way, however large it is.
  return credits_taken_ == 0 ||
         (credits_taken_ < window_ && kept_bytes_ < cluster.max_unacknowledged_bytes());
}

void ServerLink::SetWindow(int window) {
  MutexLock lock(mutex_);
  window_ = window;
  changed_.NotifyAll();
}

bool ServerLink::TryAcquireCredit() {
  MutexLock lock(mutex_);
  if (!failure_.ok() || !HasCreditLocked()) return false;
  ++credits_taken_;
  return true;
}

Status ServerLink::AcquireCredit() {
  MutexLock lock(mutex_);
  while (failure_.ok() && !HasCreditLocked()) changed_.Wait(lock);
  if (!failure_.ok()) return failure_;
  ++credits_taken_;
  return OkStatus();
}

ReadMark ServerLink::MarkRead() const {
  MutexLock lock(mutex_);
  return taken_;
}

uint64_t ServerLink::SubmitPush(v1::Push push, std::vector<Body> bodies, const ReadMark& read,
                                RowRequest* next_rows, std::shared_ptr<const AgreedPieces> agreed) {
  CHECK_EQ(bodies.size(), peers_.size());
  uint64_t sequence = 0;
  {
    // One lock for number and queue, so that pushes reach the sessions in the order of their
    // numbers.
    MutexLock lock(mutex_);
    sequence = ++submitted_;
    commands_.emplace_back([this, push = std::move(push), bodies = std::move(bodies),
                            versions = read.versions,
                            agreed = std::move(agreed)](size_t i) mutable {
      replica_.SetAgreed(agreed);
      push.set_read_version(versions[i]);
      Do(i, peers_[i].session->Submit(push, std::move(bodies[i]), clock_.NowMs()));
    });
    if (next_rows != nullptr) SubmitRowPullLocked(next_rows);
  }
  transport_->Wake();
  return sequence;
}

uint64_t ServerLink::NewPartsName() {
  MutexLock lock(mutex_);
  return ++parts_name_;
}

void ServerLink::SubmitPart(uint64_t name, std::vector<Body> bodies) {
  CHECK_EQ(bodies.size(), peers_.size());
  {
    MutexLock lock(mutex_);
    commands_.emplace_back([this, name, bodies = std::move(bodies)](size_t i) mutable {
      if (bodies[i].empty()) return;
      Do(i, peers_[i].session->SubmitPart(name, std::move(bodies[i]), clock_.NowMs()));
    });
  }
  transport_->Wake();
}

Status ServerLink::AwaitAccepted(uint64_t sequence) {
  MutexLock lock(mutex_);
  while (failure_.ok() && taken_.accepted_sequence < sequence) changed_.Wait(lock);
  return failure_;
}

Status ServerLink::AwaitDurable(uint64_t sequence) {
  MutexLock lock(mutex_);
  while (failure_.ok() && taken_.durable_sequence < sequence) changed_.Wait(lock);
  return failure_;
}

bool ServerLink::has_volatile() const {
  MutexLock lock(mutex_);
  return submitted_ > taken_.durable_sequence;
}

}  // namespace weir::worker
