// The end of one wait: turns a caller's timeout_ms into the time that is left.
//
// Every Receive of this folder may be woken for nothing and wait again; it must not start the
// timeout anew. A negative timeout counts as 0.
//
// Thread rule: a value.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/clock.h"

namespace weir::transport {

class Deadline {
 public:
  explicit Deadline(int64_t timeout_ms)
      : end_ms_(Clock::Real().NowMs() + std::clamp<int64_t>(timeout_ms, 0, kLongestWaitMs)) {}

  // Never negative.
  int64_t RemainingMs() const { return std::max<int64_t>(0, end_ms_ - Clock::Real().NowMs()); }

 private:
  // Keeps "as long as possible" from overflowing; nothing waits for a day.
  static constexpr int64_t kLongestWaitMs = 24 * 3600 * 1000;

  int64_t end_ms_;
};

}  // namespace weir::transport
