// Where a signal goes: to whatever of a process can be interrupted at the moment, and to what takes
// its place later. A target is only ever called while it is set, so it may die once it is cleared.
//
// Place in the life of a batch: none; between SignalWatcher and what the mains run.
// Thread rule: any thread. The target is called under the lock and must not call back.
#pragma once

#include <functional>
#include <utility>

#include "common/base/mutex.h"

namespace weir {

class InterruptTarget {
 public:
  // Calls the target at once if Fire came before it. Empty: nothing to interrupt; when this
  // returns, the target before is not running and will not be called.
  void Set(std::function<void()> target) {
    MutexLock lock(mutex_);
    target_ = std::move(target);
    if (fired_ && target_) target_();
  }

  void Fire() {
    MutexLock lock(mutex_);
    fired_ = true;
    if (target_) target_();
  }

 private:
  Mutex mutex_;
  bool fired_ WEIR_GUARDED_BY(mutex_) = false;
  std::function<void()> target_ WEIR_GUARDED_BY(mutex_);
};

// Sets a target while it lives, however it ends.
class InterruptScope {
 public:
  InterruptScope(InterruptTarget* interrupt, std::function<void()> target) : interrupt_(interrupt) {
    interrupt_->Set(std::move(target));
  }
  ~InterruptScope() { interrupt_->Set({}); }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  InterruptTarget* const interrupt_;
};

}  // namespace weir
