#include "tools/bench/watched_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/config/defaults.h"
#include "tools/bench/dlrm_shape.h"

namespace weir::bench {
namespace {

using store::RowPartitionStore;
using testing::HasSubstr;

constexpr size_t kBatchRows = 40;  // of a batch: fewer than are watched, so that all of them are

v1::Config SmallConfig() {
  v1::Config config;
  config.mutable_data()->mutable_synthetic()->set_rows_per_table(1000);
  config.mutable_update()->mutable_rows()->mutable_rowwise_adagrad()->set_learning_rate(0.01);
  config::FillDefaults(&config);
  return config;
}

// Two batches, of which the second has every second row of the first.
std::vector<BatchRows> TwoBatches() {
  std::vector<BatchRows> batches(2);
  for (uint32_t i = 0; i < kBatchRows; ++i) {
    const store::BatchRow row = {.table = i % 3, .position = i, .id = 10 + i};
    batches[0].push_back(row);
    if (i % 2 == 0) batches[1].push_back(row);
  }
  return batches;
}

class WatchedRowsTest : public testing::Test {
 protected:
  WatchedRowsTest() : gradients_(kBatchRows * kDimension), read_(gradients_.size()) {
    RandomStream random(1);
    for (float& g : gradients_) g = static_cast<float>(random.NextUnit() - 0.5);
  }

  void ApplyBatches() {
    for (const BatchRows& batch : batches_) rows_.ApplyBatch(batch, gradients_, kStep);
  }
  Status VerifyReadOfFirst() { return VerifyRead(rows_, batches_[0], read_); }

  const v1::Config config_ = SmallConfig();
  const ModelLayout layout_{config_, 1};
  const std::unique_ptr<const store::UpdateRule> rule_ =
      store::MakeUpdateRule(config_.update().rows());
  RowPartitionStore rows_{layout_, *rule_};
  const std::vector<BatchRows> batches_ = TwoBatches();
  WatchedRows watched_{layout_, *rule_, batches_};
  std::vector<float> gradients_, read_;
};

TEST_F(WatchedRowsTest, AcceptRowsThatBatchesUpdatedAsOften) {
  for (int pass = 0; pass < 3; ++pass) {
    ApplyBatches();
    watched_.Update(gradients_);
    const Status status = watched_.Verify(rows_);
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_F(WatchedRowsTest, RefuseRowsThatAreNotThere) {
  EXPECT_THAT(watched_.Verify(rows_).message(), HasSubstr("row 10 of table 0 differs from one"));
}

TEST_F(WatchedRowsTest, RefuseAPassTooManyOrTooFew) {
  ApplyBatches();
  EXPECT_THAT(watched_.Verify(rows_).message(), HasSubstr("differs from one"));
  watched_.Update(gradients_);
  ASSERT_TRUE(watched_.Verify(rows_).ok());
  watched_.Update(gradients_);
  EXPECT_THAT(watched_.Verify(rows_).message(), HasSubstr("differs from one"));
}

TEST_F(WatchedRowsTest, RefuseABatchThatLeavesOneRowOut) {
  BatchRows all_but_one = batches_[0];
  all_but_one.erase(all_but_one.begin() + 7);
  rows_.FindOrCreate(1, 17);
  rows_.ApplyBatch(all_but_one, gradients_, kStep);
  rows_.ApplyBatch(batches_[1], gradients_, kStep);
  watched_.Update(gradients_);
  EXPECT_THAT(watched_.Verify(rows_).message(), HasSubstr("row 17 of table 1 differs from one"));
}

TEST_F(WatchedRowsTest, RefuseAGradientOfAnotherRow) {
  BatchRows shifted = batches_[0];
  std::swap(shifted[4].position, shifted[9].position);
  rows_.ApplyBatch(shifted, gradients_, kStep);
  rows_.ApplyBatch(batches_[1], gradients_, kStep);
  watched_.Update(gradients_);
  EXPECT_THAT(watched_.Verify(rows_).message(), HasSubstr("differs from one"));
}

TEST_F(WatchedRowsTest, RefuseOneBitOfDifference) {
  ApplyBatches();
  watched_.Update(gradients_);
  std::vector<float> values(kDimension), state(rows_.row_floats() - kDimension);
  rows_.ForEachRow([&](uint32_t table, uint64_t id, auto row, auto of_rule) {
    if (table != 2 || id != 12) return;
    std::ranges::copy(row, values.begin());
    std::ranges::copy(of_rule, state.begin());
  });
  RowPartitionStore same(layout_, *rule_);
  for (const BatchRows& batch : batches_) same.ApplyBatch(batch, gradients_, kStep);
  same.Load(2, 12, values, state);
  ASSERT_TRUE(watched_.Verify(same).ok());
  values[kDimension - 1] = std::nextafter(values[kDimension - 1], 2.0f);
  same.Load(2, 12, values, state);
  EXPECT_THAT(watched_.Verify(same).message(), HasSubstr("row 12 of table 2 differs from one"));
}

TEST_F(WatchedRowsTest, ReadsAreRefusedForOneWrongElement) {
  ApplyBatches();
  rows_.ReadBatch(batches_[0], kStep, read_);
  ASSERT_TRUE(VerifyReadOfFirst().ok()) << VerifyReadOfFirst();
  for (size_t i = 0; i < read_.size(); ++i) {
    const float right = read_[i];
    read_[i] = std::nextafter(right, 2.0f);
    EXPECT_THAT(VerifyReadOfFirst().message(), HasSubstr("was read wrong")) << i;
    read_[i] = right;
  }
}

TEST_F(WatchedRowsTest, ReadsAreRefusedForARowAtAnothersPlace) {
  ApplyBatches();
  BatchRows shifted = batches_[0];
  std::swap(shifted[4].position, shifted[9].position);
  rows_.ReadBatch(shifted, kStep, read_);
  EXPECT_THAT(VerifyReadOfFirst().message(), HasSubstr("row 14 of table 1 was read wrong"));
}

}  // namespace
}  // namespace weir::bench
