#include "common/metrics/histogram.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir::metrics {
namespace {

constexpr uint64_t kLargest = std::numeric_limits<uint64_t>::max();

TEST(Histogram, IsZeroWhenEmpty) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.Quantile(0.5), 0u);
  EXPECT_EQ(histogram.max(), 0u);
}

TEST(Histogram, IsExactForSmallValues) {
  Histogram histogram;
  for (uint64_t value = 0; value < 1000; ++value) histogram.Add(value);
  EXPECT_EQ(histogram.count(), 1000u);
  EXPECT_EQ(histogram.Quantile(0), 0u);
  EXPECT_EQ(histogram.Quantile(0.5), 499u);
  EXPECT_EQ(histogram.Quantile(0.99), 989u);
  EXPECT_EQ(histogram.Quantile(1), 999u);
}

TEST(Histogram, GivesTheUpperEndOfCoarseBucketsButNoMoreThanTheLargest) {
  Histogram histogram;
  histogram.Add(1024);
  histogram.Add(5000, 2);
  EXPECT_EQ(histogram.Quantile(0.1), 2047u);
  EXPECT_EQ(histogram.Quantile(0.9), 5000u);
}

TEST(Histogram, HoldsTheLargestValue) {
  Histogram histogram;
  histogram.Add(kLargest);
  EXPECT_EQ(histogram.Quantile(0.5), kLargest);
  EXPECT_EQ(histogram.ToProto().counts_size(), static_cast<int>(Histogram::kBucketCount));
}

TEST(Histogram, MergesAsIfOneHadSeenAll) {
  Histogram low, high, both;
  low.Add(1, 3);
  high.Add(700, 2);
  high.Add(100'000);
  both.Add(1, 3);
  both.Add(700, 2);
  both.Add(100'000);
  low.Merge(high);
  EXPECT_EQ(low.max(), both.max());
  EXPECT_EQ(low.ToProto().SerializeAsString(), both.ToProto().SerializeAsString());
}

TEST(Histogram, SurvivesItsReport) {
  Histogram histogram;
  histogram.Add(0);
  histogram.Add(3, 10);
  histogram.Add(4096);
  const auto again = Histogram::FromProto(histogram.ToProto());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->count(), 12u);
  EXPECT_EQ(again->max(), 4096u);
  EXPECT_EQ(again->Quantile(0.5), 3u);
}

TEST(Histogram, RejectsAReportWithBucketsThatDoNotExist) {
  v1::HistogramReport report;
  for (size_t i = 0; i <= Histogram::kBucketCount; ++i) report.add_counts(1);
  EXPECT_EQ(Histogram::FromProto(report).status().code(), StatusCode::kInvalidData);
}

}  // namespace
}  // namespace weir::metrics
