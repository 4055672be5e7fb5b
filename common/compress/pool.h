// Things that a step needs for itself and that are dear to make: lists and buffers that have grown.
//
// Thread rule: any thread. Owns all it ever lent.
#pragma once

#include <memory>
#include <vector>

#include "common/base/mutex.h"

namespace weir::compress {

template <typename T>
class Pool {
 public:
  // One that no other step has, as its last user left it; back with it at the end of the step.
  T* Borrow() {
    MutexLock lock(mutex_);
    if (free_.empty()) free_.push_back(all_.emplace_back(std::make_unique<T>()).get());
    T* const thing = free_.back();
    free_.pop_back();
    return thing;
  }
  void GiveBack(T* thing) {
    MutexLock lock(mutex_);
    free_.push_back(thing);
  }

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<T>> all_ WEIR_GUARDED_BY(mutex_);
  std::vector<T*> free_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::compress
