#include "worker/data/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "tests/worker/data/data_files.h"

namespace weir::data {
namespace {

std::unique_ptr<Reader> MakeSynthetic(const v1::Config& config) {
  return std::move(MakeSyntheticReader(config)).value();
}

RowBlock ReadAll(const v1::Config& config, Split split) {
  const auto reader = MakeSynthetic(config);
  RowBlock all, block;
  for (int64_t chunk = 0;; ++chunk) {
    const auto result = reader->ReadChunk({split, 0, 0, chunk}, &block);
    EXPECT_TRUE(block.malformed.empty());
    all.labels.insert(all.labels.end(), block.labels.begin(), block.labels.end());
    all.dense.insert(all.dense.end(), block.dense.begin(), block.dense.end());
    all.ids.insert(all.ids.end(), block.ids.begin(), block.ids.end());
    if (result->end_of_file) return all;
  }
}

bool SameRows(const RowBlock& a, const RowBlock& b) {
  return a.labels == b.labels && a.dense == b.dense && a.ids == b.ids;
}

TEST(Synthetic, ARowDependsOnSeedAndIndexAndNotOnTheChunking) {
  v1::Config config = SyntheticConfig(300, 0);
  const RowBlock rows = ReadAll(config, Split::kTrain);
  EXPECT_EQ(rows.row_count(), 300);
  config.mutable_data()->set_batch_size(7);
  config.mutable_data()->set_chunk_batches(3);
  config.mutable_run()->set_seed(99);
  EXPECT_TRUE(SameRows(ReadAll(config, Split::kTrain), rows));
  config.mutable_data()->mutable_synthetic()->set_seed(2);
  EXPECT_FALSE(SameRows(ReadAll(config, Split::kTrain), rows));
}

TEST(Synthetic, TestRowsFollowTheTrainingRows) {
  const RowBlock long_train = ReadAll(SyntheticConfig(100, 0), Split::kTrain);
  const RowBlock test = ReadAll(SyntheticConfig(60, 40), Split::kTest);
  ASSERT_EQ(test.row_count(), 40);
  EXPECT_TRUE(std::equal(test.labels.begin(), test.labels.end(), long_train.labels.begin() + 60));
  EXPECT_TRUE(std::equal(test.ids.begin(), test.ids.end(), long_train.ids.begin() + 60 * 26));
}

TEST(Synthetic, EndsLikeAFileOfSoManyLines) {
  const auto reader = MakeSynthetic(SyntheticConfig(64, 33));  // chunks of 32 rows
  RowBlock block;
  EXPECT_FALSE(reader->ReadChunk({Split::kTrain, 0, 0, 0}, &block)->end_of_file);
  EXPECT_TRUE(reader->ReadChunk({Split::kTrain, 0, 0, 1}, &block)->end_of_file);
  EXPECT_EQ(block.row_count(), 32);
  EXPECT_FALSE(reader->ReadChunk({Split::kTest, 0, 0, 0}, &block)->end_of_file);
  EXPECT_EQ(reader->ReadChunk({Split::kTest, 0, 0, 1}, &block)->line_count, 1);
  const auto past = reader->ReadChunk({Split::kTest, 0, 0, 9}, &block);
  EXPECT_TRUE(past->end_of_file);
  EXPECT_EQ(past->line_count, 0);
  EXPECT_EQ(block.row_count(), 0);
  EXPECT_EQ(reader->file_count(Split::kTest), 1);
}

TEST(Synthetic, ClickRateIsAQuarterAndLabelsFollowTheProbabilities) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    v1::SyntheticConfig config = SyntheticShape(20'000, 0);
    config.set_seed(seed);
    const SyntheticSet set(config);
    SyntheticRow row;
    double clicks = 0, probabilities = 0, loss = 0;
    for (int64_t i = 0; i < 20'000; ++i) {
      set.MakeRow(Split::kTrain, i, &row);
      ASSERT_TRUE(row.probability > 0 && row.probability < 1);
      clicks += row.label;
      probabilities += row.probability;
      loss -= std::log(row.label > 0 ? row.probability : 1 - row.probability);
    }
    EXPECT_NEAR(probabilities / 20'000, 0.25, 0.02) << seed;
    EXPECT_NEAR(clicks / 20'000, probabilities / 20'000, 0.012) << seed;
    // The loss of the teacher's own predictions is the Bayes logloss, far below the base rate's.
    const double bayes = BayesLogloss(config, Split::kTrain, 20'000);
    EXPECT_NEAR(loss / 20'000, bayes, 0.015) << seed;
    EXPECT_LT(bayes, 0.47) << seed;
    EXPECT_GT(bayes, 0.40) << seed;
  }
}

TEST(Synthetic, BayesLoglossOfBillionsOfRowsCanBeStopped) {
  const v1::SyntheticConfig config = SyntheticShape(100, int64_t{1} << 40);
  int asked = 0;
  EXPECT_TRUE(std::isnan(
      BayesLogloss(config, Split::kTest, config.test_rows(), [&] { return ++asked == 3; })));
}

TEST(Synthetic, BayesLoglossCoversOnlyTheRowsAskedFor) {
  const v1::SyntheticConfig config = SyntheticShape(100, 50);
  const SyntheticSet set(config);
  SyntheticRow row;
  set.MakeRow(Split::kTest, 0, &row);
  const double p = row.probability;
  EXPECT_NEAR(BayesLogloss(config, Split::kTest, 1), -p * std::log(p) - (1 - p) * std::log(1 - p),
              1e-12);
  EXPECT_EQ(BayesLogloss(config, Split::kTest, 50), BayesLogloss(config, Split::kTest, 1'000'000));
}

TEST(Synthetic, IdsFollowAPowerLawWithinTheirTables) {
  constexpr int64_t kRows = 20'000;
  const v1::SyntheticConfig config = SyntheticShape(kRows, 0);
  const SyntheticSet set(config);
  std::vector<std::map<uint64_t, int64_t>> counts(26);
  SyntheticRow row;
  for (int64_t i = 0; i < kRows; ++i) {
    set.MakeRow(Split::kTrain, i, &row);
    for (size_t table = 0; table < 26; ++table) ++counts[table][row.features.ids[table]];
  }
  size_t largest = 0;
  for (auto& table : counts) {
    table.erase(0);  // missing
    EXPECT_LT(table.rbegin()->first, 100'000u);
    int64_t most = 0;
    for (const auto& [id, count] : table) most = std::max(most, count);
    EXPECT_GT(most, kRows / 50) << "no id is frequent";
    largest = std::max(largest, table.size());
  }
  EXPECT_EQ(counts[6].size(), 2u) << "an id space of 3, of which 0 is for missing ones";
  EXPECT_EQ(counts[1].size(), 9u);
  EXPECT_GT(largest, 3'000u) << "the tail is long";
}

TEST(Synthetic, MakesRowsOfAnyShape) {
  for (const auto& [dense, tables, rows_per_table] :
       std::vector<std::array<int, 3>>{{1, 0, 1}, {1, 1, 1}, {2, 30, 2}, {40, 3, 5}}) {
    v1::SyntheticConfig config = SyntheticShape(200, 0);
    config.set_dense_features(dense);
    config.set_tables(tables);
    config.set_rows_per_table(rows_per_table);
    const SyntheticSet set(config);
    SyntheticRow row;
    for (int64_t i = 0; i < 200; ++i) {
      set.MakeRow(Split::kTrain, i, &row);
      ASSERT_EQ(row.features.dense.size(), static_cast<size_t>(dense));
      ASSERT_EQ(row.features.ids.size(), static_cast<size_t>(tables));
      for (const uint64_t id : row.features.ids) {
        ASSERT_LT(id, static_cast<uint64_t>(rows_per_table));
      }
      ASSERT_TRUE(row.probability > 0 && row.probability < 1);
    }
  }
}

}  // namespace
}  // namespace weir::data
