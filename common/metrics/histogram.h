// Counts of whole numbers, such as staleness: exact below 1024, above in powers of two.
//
// Quantiles are exact where the buckets are; above they are the bucket's upper end, but never more
// than the largest value seen. Histograms of several workers add up.
//
// Thread rule: thread-compatible; a thread or a lock owns each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/base/status.h"
#include "common/proto/report.pb.h"

namespace weir::metrics {

class Histogram {
 public:
  // Values 0 to 1023 each have a bucket; then [1024, 2047], [2048, 4095], ..., up to 2^64 - 1.
  static constexpr size_t kExactCount = 1024;
  static constexpr size_t kBucketCount = kExactCount + 54;

  void Add(uint64_t value, uint64_t count = 1);
  void Merge(const Histogram& other);

  uint64_t count() const;
  // 0 when empty.
  uint64_t max() const { return max_; }
  // The smallest value that at least share * count() of the values do not exceed; 0 when empty.
  // share in [0, 1].
  uint64_t Quantile(double share) const;

  v1::HistogramReport ToProto() const;
  // InvalidData when the report has buckets that do not exist.
  static Result<Histogram> FromProto(const v1::HistogramReport& report);

 private:
  std::array<uint64_t, kBucketCount> counts_{};
  uint64_t max_ = 0;
};

}  // namespace weir::metrics
