#include "worker/data/dense_transform.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/base/check.h"

namespace weir::data {
namespace {

// Most counts are small, and a logarithm would be the dearest part of parsing a field.
constexpr int64_t kTableSize = 4096;

using Table = std::array<float, kTableSize>;

Table MakeTable() {
  Table table;
  for (int64_t value = 0; value < kTableSize; ++value) {
    table[static_cast<size_t>(value)] = static_cast<float>(std::log1p(static_cast<double>(value)));
  }
  return table;
}

const Table& LogTable() {
  static const Table table = MakeTable();
  return table;
}

inline float Look(const Table& table, int64_t value) {
  value = std::max<int64_t>(value, 0);
  if (value < kTableSize) return table[static_cast<size_t>(value)];
  return static_cast<float>(std::log1p(static_cast<double>(value)));
}

}  // namespace

float LogCount(int64_t value) { return Look(LogTable(), value); }

std::span<const float> SmallLogs() { return LogTable(); }

void LogCounts(std::span<const int64_t> values, std::span<float> out) {
  DCHECK_EQ(values.size(), out.size());
  const Table& table = LogTable();
  for (size_t i = 0; i < values.size(); ++i) out[i] = Look(table, values[i]);
}

}  // namespace weir::data
