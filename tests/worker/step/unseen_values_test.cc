#include "worker/step/unseen_values.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "common/layout/initial_values.h"

namespace weir::worker {
namespace {

constexpr size_t kDimension = 4;

v1::Config TwoTables() {
  v1::Config config;
  config.mutable_data()->mutable_synthetic()->set_tables(2);
  config.mutable_data()->mutable_synthetic()->set_rows_per_table(1000);
  config.mutable_model()->set_embedding_dimension(kDimension);
  config::FillDefaults(&config);
  return config;
}

class UnseenValuesTest : public testing::Test {
 protected:
  // The batch's rows: initial ones, but for those ids of either table that were trained.
  std::vector<float> RowsOf(const data::Batch& batch, const std::vector<uint64_t>& trained) const {
    std::vector<float> rows;
    for (size_t table = 0; table < batch.tables.size(); ++table) {
      for (const uint64_t id : batch.tables[table].unique) {
        std::vector<float> row(kDimension);
        InitialRowValues(layout_.seed(), layout_.tables()[table], id, row);
        // The last element alone, as the least that training may change.
        if (std::ranges::count(trained, id) > 0) row.back() += 1;
        rows.insert(rows.end(), row.begin(), row.end());
      }
    }
    return rows;
  }

  void Count(uint32_t evaluation, const data::Batch& batch, const std::vector<uint64_t>& trained) {
    values_.Count(evaluation, batch, RowsOf(batch, trained),
                  [](size_t row) { return StrCat("row ", row); });
  }

  v1::WorkerReport Report() const {
    v1::WorkerReport report;
    values_.FillReport(&report);
    return report;
  }

  const ModelLayout layout_{TwoTables(), 1};
  UnseenValues values_{layout_};
};

// Three samples: ids 5 9 5 of the first table; 7, none, 8 and 9 of the second.
data::Batch Example() {
  data::Batch batch;
  batch.row_count = 3;
  batch.tables.resize(2);
  batch.tables[0].unique = {5, 9};
  batch.tables[0].positions = {0, 1, 0};
  batch.tables[1].unique = {7, 8, 9};
  batch.tables[1].positions = {0, 1, 2};
  batch.tables[1].ends = {1, 1, 3};
  return batch;
}

TEST_F(UnseenValuesTest, CountsEachValueWhoseRowIsInitial) {
  Count(0, Example(), {9, 7});
  const v1::WorkerReport report = Report();
  ASSERT_EQ(report.test_values_size(), 2);
  EXPECT_EQ(report.test_values(0).table(), "C1");
  EXPECT_EQ(report.test_values(0).values(), 3u);
  EXPECT_EQ(report.test_values(0).unseen(), 2u) << "5 comes twice";
  EXPECT_EQ(report.test_values(0).example(), "row 0");
  EXPECT_EQ(report.test_values(1).table(), "C2");
  EXPECT_EQ(report.test_values(1).values(), 3u);
  EXPECT_EQ(report.test_values(1).unseen(), 1u);
  EXPECT_EQ(report.test_values(1).example(), "row 2") << "the sample that has two";
}

TEST_F(UnseenValuesTest, AddsUpAnEvaluationAndBeginsAnewWithTheNext) {
  Count(0, Example(), {9});
  Count(0, Example(), {5, 9});
  EXPECT_EQ(Report().test_values(0).values(), 6u);
  EXPECT_EQ(Report().test_values(0).unseen(), 2u);
  Count(1, Example(), {5, 9});
  EXPECT_EQ(Report().test_values(0).values(), 3u);
  EXPECT_EQ(Report().test_values(0).unseen(), 0u);
}

TEST_F(UnseenValuesTest, SaysNothingBeforeATestRow) { EXPECT_EQ(Report().test_values_size(), 0); }

}  // namespace
}  // namespace weir::worker
