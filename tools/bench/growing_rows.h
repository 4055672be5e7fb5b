// What pulls take of a store that grows with each: a part of the section store. A stall that comes
// seldom hides in any mean, so lines tell the slow pulls.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "tools/bench/line.h"

namespace weir::bench {

// Microseconds that each of a row of pulls took.
class PullTimes {
 public:
  explicit PullTimes(std::vector<double> microseconds);

  // The time that this share of the pulls did not exceed: 0.5 the median, 1 the slowest.
  double Quantile(double share) const;

 private:
  std::vector<double> sorted_;
};

// Pulls of 4,096 rows, all of them new, until there are row_count, of one element each. Beside each
// line is the same of the same pulls again, when all rows are there.
Result<Lines> GrowingRowLines(int64_t row_count);

}  // namespace weir::bench
