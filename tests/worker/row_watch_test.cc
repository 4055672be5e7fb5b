#include "worker/row_watch.h"

#include <gtest/gtest.h>

#include "common/base/check.h"
#include "common/config/defaults.h"
#include "google/protobuf/text_format.h"

namespace weir::worker {
namespace {

v1::Config CsvConfig() {
  v1::Config config;
  CHECK(google::protobuf::TextFormat::ParseFromString(
      R"(csv { label { column: "y" } dense { column: "age" } dense { column: "time" } })",
      config.mutable_data()));
  config::FillDefaults(&config);
  return config;
}

v1::ChunkLease Lease(uint32_t epoch, uint32_t file, uint64_t chunk) {
  v1::ChunkLease lease;
  lease.set_split(v1::TRAIN);
  lease.set_epoch(epoch);
  lease.set_file(file);
  lease.set_chunk(chunk);
  return lease;
}

data::RowBlock Rows(std::vector<float> labels, std::vector<float> dense = {}) {
  data::RowBlock rows;
  rows.labels = std::move(labels);
  rows.dense_count = static_cast<int32_t>(dense.size() / rows.labels.size());
  rows.dense = std::move(dense);
  return rows;
}

v1::WorkerReport ReportOf(const RowWatch& watch) {
  v1::WorkerReport report;
  watch.FillReport(&report);
  return report;
}

TEST(RowWatch, FindsTheColumnsOfTheFirstChunkThatAreLarge) {
  const v1::Config config = CsvConfig();
  RowWatch watch(config.data());
  const auto found = watch.Take(Lease(0, 0, 0), Rows({0, 1, 1}, {30, -2000, 40, 1000, 50, 2000}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name(), "time");
  EXPECT_EQ(found[0].smallest(), -2000);
  EXPECT_EQ(found[0].largest(), 2000);
  EXPECT_NEAR(found[0].root_mean_square(), 1732, 1);
  ASSERT_EQ(ReportOf(watch).large_columns_size(), 1);
  EXPECT_EQ(ReportOf(watch).large_columns(0).name(), "time");
}

TEST(RowWatch, LeavesColumnsOfOtherChunksToWhoeverHasTheFirst) {
  const v1::Config config = CsvConfig();
  RowWatch watch(config.data());
  for (const auto& lease : {Lease(0, 0, 1), Lease(0, 1, 0), Lease(1, 0, 0)}) {
    EXPECT_TRUE(watch.Take(lease, Rows({0}, {1e9, 1e9})).empty());
  }
  EXPECT_EQ(ReportOf(watch).large_columns_size(), 0);
}

TEST(RowWatch, KnowsNoColumnsOfOtherReaders) {
  v1::Config config;
  config.mutable_data()->mutable_synthetic();
  config::FillDefaults(&config);
  RowWatch watch(config.data());
  EXPECT_TRUE(watch.Take(Lease(0, 0, 0), Rows({0}, {1e9, 1e9})).empty());
}

TEST(RowWatch, GroupsLabelsAcrossChunks) {
  const v1::Config config = CsvConfig();
  RowWatch watch(config.data());
  std::vector<float> labels(100, 1.0f);
  watch.Take(Lease(0, 0, 1), Rows(labels));                      // 100 of the first group
  watch.Take(Lease(0, 0, 2), Rows(std::vector<float>(28, 0)));   // its end
  watch.Take(Lease(0, 0, 3), Rows(std::vector<float>(128, 1)));  // the second
  watch.Take(Lease(0, 0, 4), Rows(std::vector<float>(5, 1)));    // of a third
  const v1::LabelReport report = ReportOf(watch).labels();
  EXPECT_EQ(report.rows(), 261u);
  EXPECT_EQ(report.positives(), 233u);
  EXPECT_EQ(report.groups(), 2u);
  EXPECT_EQ(report.squared_positives(), 100u * 100 + 128 * 128);
}

}  // namespace
}  // namespace weir::worker
