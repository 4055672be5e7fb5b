#include "common/compress/kth_largest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>

#include "common/base/check.h"

namespace weir::compress {
namespace {

// A bucket is the exponent and three bits behind it: an eighth of an octave.
constexpr int kBucketShift = 20;
constexpr size_t kBuckets = size_t{1} << (31 - kBucketShift);
// Neighbours count in different tables: one counter, increased in every step, would wait for
// itself.
constexpr size_t kTables = 4;
// Of so many, looking at all takes less than clearing and adding up tables.
constexpr size_t kFewMagnitudes = 256;

size_t BucketOf(float magnitude) { return std::bit_cast<uint32_t>(magnitude) >> kBucketShift; }

using Counts = std::array<uint32_t, kBuckets>;

Counts CountBuckets(std::span<const float> magnitudes) {
  std::array<Counts, kTables> tables = {};
  size_t i = 0;
  for (; i + kTables <= magnitudes.size(); i += kTables) {
    for (size_t table = 0; table < kTables; ++table) {
      ++tables[table][BucketOf(magnitudes[i + table])];
    }
  }
  for (; i < magnitudes.size(); ++i) ++tables[0][BucketOf(magnitudes[i])];
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    for (size_t table = 1; table < kTables; ++table) tables[0][bucket] += tables[table][bucket];
  }
  return tables[0];
}

// Moves the bucket's magnitudes to the front.
std::span<float> Gather(std::span<float> magnitudes, size_t bucket) {
  size_t count = 0;
  for (const float magnitude : magnitudes) {
    magnitudes[count] = magnitude;
    count += static_cast<size_t>(BucketOf(magnitude) == bucket);
  }
  return magnitudes.first(count);
}

float KthOf(std::span<float> magnitudes, size_t k) {
  const auto kth = magnitudes.begin() + static_cast<ptrdiff_t>(k - 1);
  std::nth_element(magnitudes.begin(), kth, magnitudes.end(), std::greater<>());
  return *kth;
}

}  // namespace

float KthLargest(std::span<float> magnitudes, size_t k) {
  CHECK(k >= 1 && k <= magnitudes.size()) << k << " of " << magnitudes.size();
  if (magnitudes.size() <= kFewMagnitudes) return KthOf(magnitudes, k);
  const Counts counts = CountBuckets(magnitudes);
  size_t bucket = kBuckets - 1;
  for (; counts[bucket] < k; --bucket) k -= counts[bucket];
  const std::span<float> candidates = Gather(magnitudes, bucket);
  return KthOf(candidates, k);
}

}  // namespace weir::compress
