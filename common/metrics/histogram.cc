#include "common/metrics/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "common/base/strings.h"

namespace weir::metrics {
namespace {

constexpr int kExactBits = std::bit_width(Histogram::kExactCount) - 1;
static_assert(Histogram::kBucketCount == Histogram::kExactCount + 64 - kExactBits);

size_t BucketOf(uint64_t value) {
  if (value < Histogram::kExactCount) return value;
  return Histogram::kExactCount + static_cast<size_t>(std::bit_width(value) - 1 - kExactBits);
}

uint64_t LargestIn(size_t bucket) {
  if (bucket < Histogram::kExactCount) return bucket;
  const size_t bits = bucket - Histogram::kExactCount + kExactBits + 1;
  return ~uint64_t{0} >> (64 - bits);
}

}  // namespace

void Histogram::Add(uint64_t value, uint64_t count) {
  if (count == 0) return;
  counts_[BucketOf(value)] += count;
  max_ = std::max(max_, value);
}

void Histogram::Merge(const Histogram& other) {
  for (size_t i = 0; i < kBucketCount; ++i) counts_[i] += other.counts_[i];
  max_ = std::max(max_, other.max_);
}

uint64_t Histogram::count() const {
  return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0});
}

uint64_t Histogram::Quantile(double share) const {
  DCHECK(share >= 0 && share <= 1) << share;
  const double rank = std::max(1.0, std::ceil(share * static_cast<double>(count())));
  double seen = 0;
  for (size_t i = 0; i < kBucketCount; ++i) {
    seen += static_cast<double>(counts_[i]);
    if (seen >= rank) return std::min(LargestIn(i), max_);
  }
  return max_;
}

v1::HistogramReport Histogram::ToProto() const {
  v1::HistogramReport report;
  const auto last = std::find_if(counts_.rbegin(), counts_.rend(), [](auto c) { return c != 0; });
  report.mutable_counts()->Add(counts_.begin(), last.base());
  report.set_max(max_);
  return report;
}

Result<Histogram> Histogram::FromProto(const v1::HistogramReport& report) {
  if (static_cast<size_t>(report.counts_size()) > kBucketCount) {
    return InvalidData(StrCat("a histogram report has ", report.counts_size(),
                              " buckets, more than the ", kBucketCount, " there are"));
  }
  Histogram histogram;
  std::copy(report.counts().begin(), report.counts().end(), histogram.counts_.begin());
  histogram.max_ = report.max();
  return histogram;
}

}  // namespace weir::metrics
