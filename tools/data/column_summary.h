// What the rows of a click log look like, column by column: shares of missing values, range and
// mean of integers, number of distinct categoricals.
//
// Thread rule: thread-compatible. Memory is bounded: distinct values are counted up to
// kMaxDistinct a column.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <ostream>
#include <unordered_set>

#include "worker/data/criteo_line.h"

namespace weir::tools {

inline constexpr size_t kMaxDistinct = 200'000;

class ColumnSummary {
 public:
  void Add(const data::CriteoFields& fields);

  int64_t row_count() const { return row_count_; }
  int64_t click_count() const { return click_count_; }
  // Different categoricals, as far as they were counted: of the column that has most, and of all.
  int64_t most_distinct() const;
  int64_t distinct_count() const;

  // One line a column under a heading for each kind. Missing values count for nothing but their
  // share.
  void Print(std::ostream& out) const;

 private:
  struct Integer {
    int64_t missing_count = 0;
    int64_t least = std::numeric_limits<int64_t>::max();
    int64_t greatest = std::numeric_limits<int64_t>::min();
    double sum = 0;
  };
  struct Categorical {
    int64_t missing_count = 0;
    std::unordered_set<uint32_t> distinct;  // one beyond kMaxDistinct says that there are more
  };

  void PrintInteger(size_t column, std::ostream& out) const;
  double Share(int64_t count) const;

  int64_t row_count_ = 0;
  int64_t click_count_ = 0;
  std::array<Integer, data::kCriteoDenseCount> integers_;
  std::array<Categorical, data::kCriteoTableCount> categoricals_;
};

}  // namespace weir::tools
