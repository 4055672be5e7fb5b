// Of a run in rounds: who is gone from which, as one thread hears it from server 0 and another
// asks.
//
// Thread rule: any thread.
#pragma once

#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/proto/protocol.pb.h"

namespace weir::server {

class DepartureList {
 public:
  // All so far.
  void Set(std::vector<v1::Departure> departures) {
    MutexLock lock(mutex_);
    departures_ = std::move(departures);
  }
  std::vector<v1::Departure> Get() const {
    MutexLock lock(mutex_);
    return departures_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<v1::Departure> departures_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::server
