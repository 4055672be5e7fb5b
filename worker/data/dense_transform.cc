#include "worker/data/dense_transform.h"

#include <array>
#include <cmath>

namespace weir::data {
namespace {

// Most counts are small, and a logarithm would be the dearest part of parsing a field.
constexpr int64_t kTableSize = 4096;

std::array<float, kTableSize> MakeTable() {
  std::array<float, kTableSize> table;
  for (int64_t value = 0; value < kTableSize; ++value) {
    table[static_cast<size_t>(value)] = static_cast<float>(std::log1p(static_cast<double>(value)));
  }
  return table;
}

}  // namespace

float LogCount(int64_t value) {
  static const std::array<float, kTableSize> table = MakeTable();
  if (value <= 0) return 0.0f;
  if (value < kTableSize) return table[static_cast<size_t>(value)];
  return static_cast<float>(std::log1p(static_cast<double>(value)));
}

}  // namespace weir::data
