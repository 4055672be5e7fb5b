// Of a run in rounds: who is gone from which, as one thread hears it from server 0 and another
// asks.
//
// Thread rule: any thread.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "common/proto/protocol.pb.h"

namespace weir::server {

class DepartureList {
 public:
  // All so far.
  void Set(std::vector<v1::Departure> departures) {
    std::lock_guard lock(mutex_);
    departures_ = std::move(departures);
  }
  std::vector<v1::Departure> Get() const {
    std::lock_guard lock(mutex_);
    return departures_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<v1::Departure> departures_;
};

}  // namespace weir::server
