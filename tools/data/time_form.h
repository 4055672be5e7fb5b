// Dates and times that stand in a column, by their looks.
//
// Thread rule: pure function, any thread.
#pragma once

#include <optional>
#include <string>

#include "tools/data/column_sample.h"

namespace weir::tools {

struct TimeForm {
  std::string name;    // "seconds since 1970"
  std::string derive;  // what a model can learn from, and how to make it
  // Whole numbers whose last two digits are the hour of the day.
  bool ends_in_hour = false;
};

// Nothing when the values are no times. Those that are numbers all have to be sound times, and the
// column has to be called so where they might be something else.
std::optional<TimeForm> FindTimeForm(const ColumnSample& column);

}  // namespace weir::tools
