// What becomes of an integer feature on its way into the model: log(1 + max(value, 0)), as is usual
// for Criteo's counts. Missing integers are given as 0.
//
// Every reader of integer features uses these functions, so that the same integers give the same
// bits whatever they were read from.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <span>

namespace weir::data {

float LogCount(int64_t value);

// LogCount of 0, 1, 2, ...
std::span<const float> SmallLogs();

// out[i] = LogCount(values[i]); both have one size.
void LogCounts(std::span<const int64_t> values, std::span<float> out);

}  // namespace weir::data
