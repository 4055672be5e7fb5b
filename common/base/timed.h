// Adds the seconds that it lives to *total, for measuring and reporting only. Of several threads:
// Stopwatch (clock.h).
//
// Thread rule: one thread's, as the total is.
#pragma once

#include "common/base/clock.h"

namespace weir {

class Timed {
 public:
  explicit Timed(double* total) : total_(*total) {}
  ~Timed() { total_ += MonotonicSeconds() - begin_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  double& total_;
  const double begin_ = MonotonicSeconds();
};

}  // namespace weir
