#include "common/cluster/report_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::cluster {
namespace {

v1::WorkerReport Report(uint64_t samples, uint64_t waiting_rows = 0) {
  v1::WorkerReport report;
  report.set_samples(samples);
  report.mutable_rows()->set_waiting(waiting_rows);
  return report;
}

v1::WorkerReport WithLayer(uint64_t elements) {
  v1::WorkerReport report;
  v1::LayerReport& layer = *report.add_layers();
  layer.set_name("top/0/weight");
  layer.set_elements(elements);
  return report;
}

TEST(ReportBook, SumsTheLastReportOfEachSeat) {
  ReportBook book;
  EXPECT_EQ(book.MergedNow().samples(), 0u);
  EXPECT_TRUE(book.Take({0, 0}, Report(10)).ok());
  EXPECT_TRUE(book.Take({1, 0}, Report(5)).ok());
  EXPECT_TRUE(book.Take({0, 0}, Report(12)).ok());
  EXPECT_EQ(book.MergedNow().samples(), 17u);
}

TEST(ReportBook, WhatProcessesBeforeHadCountedStays) {
  ReportBook book;
  for (const uint64_t samples : {10, 20, 30}) {
    book.Close({0, 0});
    EXPECT_TRUE(book.Take({0, 0}, Report(samples)).ok());
  }
  EXPECT_EQ(book.MergedNow().samples(), 60u);
}

TEST(ReportBook, WhatAProcessWasLikeLastGoesWithIt) {
  ReportBook book;
  EXPECT_TRUE(book.Take({0, 0}, Report(10, /*waiting_rows=*/7)).ok());
  EXPECT_EQ(book.MergedNow().rows().waiting(), 7u);
  book.Close({0, 0});
  EXPECT_EQ(book.MergedNow().samples(), 10u);
  EXPECT_EQ(book.MergedNow().rows().waiting(), 0u);
}

TEST(ReportBook, ARefusedReportChangesNothing) {
  ReportBook book;
  EXPECT_TRUE(book.Take({0, 0}, WithLayer(8)).ok());
  const std::string before = book.MergedNow().DebugString();
  EXPECT_EQ(book.Take({1, 0}, WithLayer(9)).code(), StatusCode::kInvalidData);
  EXPECT_EQ(book.MergedNow().DebugString(), before);
  EXPECT_TRUE(book.Take({1, 0}, WithLayer(8)).ok()) << "nor does it stay in the way of others";
}

TEST(ReportBook, TheSumOfMoreWorkersIsMadeLessOften) {
  ReportBook book;
  EXPECT_TRUE(book.Take({0, 0}, Report(10)).ok());
  EXPECT_EQ(book.Merged(1000).samples(), 10u);
  EXPECT_TRUE(book.Take({0, 0}, Report(20)).ok());
  EXPECT_EQ(book.Merged(1004).samples(), 10u);
  EXPECT_EQ(book.MergedNow().samples(), 20u);
  EXPECT_EQ(book.Merged(1005).samples(), 20u);
  for (uint32_t trainer = 1; trainer < 100; ++trainer) {
    EXPECT_TRUE(book.Take({trainer, 0}, Report(1)).ok());
  }
  EXPECT_EQ(book.Merged(1504).samples(), 20u);
  EXPECT_EQ(book.Merged(1505).samples(), 119u);
}

TEST(ReportBook, SizesThatNoneOfTheFirstHadMustAgreeToo) {
  ReportBook book;
  EXPECT_TRUE(book.Take({0, 0}, Report(1)).ok());
  EXPECT_TRUE(book.Take({1, 0}, WithLayer(8)).ok());
  EXPECT_FALSE(book.Take({2, 0}, WithLayer(9)).ok());
}

}  // namespace
}  // namespace weir::cluster
