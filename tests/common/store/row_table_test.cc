#include "common/store/row_table.h"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/layout/initial_values.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/store/store_test_support.h"

namespace weir::store {
namespace {

constexpr uint64_t kIdLimit = uint64_t{1} << 48;

using Key = std::pair<uint32_t, uint64_t>;

struct KeyHash {
  size_t operator()(const Key& key) const { return KeyedHash(0, key.first, key.second); }
};

std::vector<float> InitialRow(const ModelLayout& layout, const Key& key) {
  std::vector<float> row(static_cast<size_t>(layout.embedding_dimension()));
  InitialRowValues(layout.seed(), layout.tables()[key.first], key.second, row);
  return row;
}

std::vector<float> Copy(std::span<const float> values) { return {values.begin(), values.end()}; }

// All rows by key: values, then state.
std::map<Key, std::vector<float>> Rows(const RowPartitionStore& store) {
  std::map<Key, std::vector<float>> rows;
  store.ForEachRow([&](uint32_t table, uint64_t id, std::span<const float> values,
                       std::span<const float> state) {
    std::vector<float>& row = rows[{table, id}];
    row.assign(values.begin(), values.end());
    row.insert(row.end(), state.begin(), state.end());
  });
  EXPECT_EQ(std::ssize(rows), store.row_count());
  return rows;
}

class RowPartitionStoreTest : public ::testing::Test {
 protected:
  const ModelLayout layout_ = MakeLayout({});
  const std::unique_ptr<const UpdateRule> rule_ = MakeRule("rowwise_adagrad", 0.1);
};

TEST_F(RowPartitionStoreTest, CreatesARowFromItsInitialValues) {
  RowPartitionStore store(layout_, *rule_);
  EXPECT_TRUE(store.Find(1, 42).empty());
  EXPECT_EQ(Copy(store.FindOrCreate(1, 42)), InitialRow(layout_, {1, 42}));
  EXPECT_EQ(Copy(store.Find(1, 42)), InitialRow(layout_, {1, 42}));
  EXPECT_TRUE(store.Find(2, 42).empty());
  EXPECT_EQ(store.row_count(), 1);
}

TEST_F(RowPartitionStoreTest, ReadingOnlyCreatesNothing) {
  RowPartitionStore store(layout_, *rule_);
  std::vector<float> row(4);
  for (uint64_t id = 0; id < 5000; ++id) {
    store.ReadOrInitial(0, id, 0, row);
    ASSERT_EQ(row, InitialRow(layout_, {0, id}));
  }
  EXPECT_EQ(store.row_count(), 0);
  EXPECT_TRUE(Rows(store).empty());
}

TEST_F(RowPartitionStoreTest, AppliesToARowThatNobodyPulled) {
  const auto sgd = MakeRule("sgd", 1);
  RowPartitionStore store(layout_, *sgd);
  std::vector<float> expected = InitialRow(layout_, {0, 9}), row(4);
  for (float& value : expected) value -= 2.0f;
  store.Apply(0, 9, std::vector<float>(4, 2.0f), 1);
  EXPECT_EQ(store.row_count(), 1);
  store.ReadOrInitial(0, 9, 1, row);
  EXPECT_EQ(row, expected);
}

// Initial value of the state, where the rule has any.
constexpr float kAccumulator = 0.25f;

// With and without steps at rest.
constexpr const char* kRules[] = {
    "sgd { learning_rate: 0.1 }",
    "adagrad { learning_rate: 0.1 initial_accumulator: 0.25 }",
    "rowwise_adagrad { learning_rate: 0.1 initial_accumulator: 0.25 }",
    "rowwise_adagrad { learning_rate: 0.1 } weight_decay: 0.01",
    "momentum { learning_rate: 0.1 }",
    "adam { learning_rate: 0.1 } weight_decay: 0.01",
};

// Random reads and gradients on the store and on a plain map, until there are row_count rows.
void CompareWithMap(const ModelLayout& layout, const UpdateRule& rule, size_t row_count) {
  RandomStream random(21);
  RowPartitionStore store(layout, rule);
  std::unordered_map<Key, std::vector<float>, KeyHash> model;
  std::vector<Key> known;
  for (uint64_t step = 1; model.size() < row_count; ++step) {
    const bool fresh = known.empty() || random.NextBelow(3) != 0;
    const Key key = fresh ? Key(random.NextBelow(3), random.NextBelow(kIdLimit))
                          : known[random.NextBelow(known.size())];
    const bool absent = !model.contains(key);
    ASSERT_EQ(store.Find(key.first, key.second).empty(), absent);
    std::vector<float> row = absent ? InitialRow(layout, key) : model[key], read(4);
    row.resize(4 + static_cast<size_t>(rule.StatePerRow(4)));
    const std::span<float> values = std::span(row).first(4), state = std::span(row).subspan(4);
    if (absent) rule.InitialState(4, state);
    std::vector<float> expected(values.begin(), values.end());
    rule.CatchUp(expected, state, step);
    store.ReadOrInitial(key.first, key.second, step, read);
    ASSERT_EQ(read, expected);
    if (random.NextBelow(8) == 0) continue;

    if (absent) known.push_back(key);
    std::vector<float> gradient(4);
    for (float& g : gradient) g = static_cast<float>(random.NextNormal());
    rule.ApplyRow(values, state, gradient, step);
    store.Apply(key.first, key.second, gradient, step);
    model[key] = std::move(row);
  }
  EXPECT_EQ(Rows(store), (std::map<Key, std::vector<float>>(model.begin(), model.end())));
}

TEST_F(RowPartitionStoreTest, AgreesWithAPlainMapThroughGrowth) {
  CompareWithMap(layout_, *MakeUpdateRule(RuleConfig("rowwise_adagrad", 0.1, kAccumulator)),
                 200'000);
}

TEST_F(RowPartitionStoreTest, AgreesWithAPlainMapUnderEveryRule) {
  for (const char* rule : kRules) {
    SCOPED_TRACE(rule);
    CompareWithMap(layout_, *MakeRule(rule), 5'000);
  }
}

// Batches with rows that are new, known and repeated, in any order of positions, on one store; the
// same rows one by one on another.
void CompareBatchesWithSingleRows(const LayoutOptions& options, const UpdateRule& rule,
                                  uint64_t id_limit) {
  const ModelLayout layout = MakeLayout(options);
  const auto dimension = static_cast<size_t>(options.dimension);
  RandomStream random(31);
  RowPartitionStore batched(layout, rule), single(layout, rule);
  uint64_t step = 0;
  // Around the rows that take a step of a lookup together, and those between two steps.
  for (const size_t size : {0u, 1u, 31u, 32u, 33u, 64u, 65u, 127u, 128u, 129u, 800u, 3u, 800u}) {
    std::vector<BatchRow> rows;
    for (uint32_t i = 0; i < size; ++i) {
      rows.push_back({static_cast<uint32_t>(random.NextBelow(3)), i, random.NextBelow(id_limit)});
    }
    for (size_t i = size; i > 1; --i) {
      std::swap(rows[i - 1].position, rows[random.NextBelow(i)].position);
    }
    std::vector<float> matrix(size * dimension), expected(matrix.size());
    const auto of = [&](std::vector<float>& values, const BatchRow& row) {
      return std::span(values).subspan(row.position * dimension, dimension);
    };
    const RowPartitionStore& reader = batched;
    step += 1 + random.NextBelow(5);
    reader.ReadBatchOrInitial(rows, step - 1, matrix);
    for (const BatchRow& row : rows) {
      single.ReadOrInitial(row.table, row.id, step - 1, of(expected, row));
    }
    ASSERT_EQ(matrix, expected);
    ASSERT_EQ(batched.row_count(), single.row_count());

    std::vector<RowPlace> places;
    const bool by_places = random.NextBelow(2) == 0;
    if (by_places) {
      batched.ReadBatch(rows, step - 1, matrix, &places);
      for (const BatchRow& row : rows) {
        single.FindOrCreate(row.table, row.id);
        single.ReadOrInitial(row.table, row.id, step - 1, of(expected, row));
      }
      ASSERT_EQ(matrix, expected);
    }
    for (float& value : matrix) value = static_cast<float>(random.NextNormal());
    if (!by_places) {
      batched.ApplyBatch(rows, matrix, step);
    } else {
      ASSERT_EQ(places.size(), rows.size());
      batched.ApplyPlaces(places, matrix, step);
    }
    for (const BatchRow& row : rows) single.Apply(row.table, row.id, of(matrix, row), step);
  }
  EXPECT_EQ(Rows(batched), Rows(single));
}

TEST_F(RowPartitionStoreTest, BatchesDoWhatSingleRowsDoInOrder) {
  for (const char* rule : kRules) {
    for (const int32_t dimension : {1, 4, 16, 17, 600}) {
      for (const uint64_t id_limit : {uint64_t{3}, uint64_t{900}, kIdLimit}) {
        SCOPED_TRACE(testing::Message() << rule << " " << dimension << " " << id_limit);
        CompareBatchesWithSingleRows({.bottom_widths = {dimension}, .dimension = dimension},
                                     *MakeRule(rule), id_limit);
      }
    }
  }
}

// Ids of table 0 whose keys have one place and one tag in the first index, which has 1,024 entries:
// a batch that looks for the second finds the first, and has to look at its key.
TEST_F(RowPartitionStoreTest, BatchesTellRowsOfOneTagApart) {
  constexpr uint64_t kAlike[][2] = {{19847, 50728}, {30103, 155416}, {54293, 232552}};
  for (const auto& [first, second] : kAlike) {
    const uint64_t differing = RowIndex::Hash(first) ^ RowIndex::Hash(second);
    ASSERT_EQ(differing & 1023, 0u);
    ASSERT_EQ((differing >> 32) >> 10, 0u);
    RowPartitionStore store(layout_, *rule_), expected(layout_, *rule_);
    store.FindOrCreate(0, first);
    const BatchRow row{0, 0, second};
    const std::vector<float> initial = InitialRow(layout_, {0, second});
    std::vector<float> values(initial.size());
    std::as_const(store).ReadBatchOrInitial({&row, 1}, 0, values);
    EXPECT_EQ(values, initial);
    const std::vector<float> gradient(values.size(), 0.5f);
    store.ApplyBatch({&row, 1}, gradient, 1);
    expected.FindOrCreate(0, first);
    expected.Apply(0, second, gradient, 1);
    EXPECT_EQ(Rows(store), Rows(expected));
    store.ReadBatch({&row, 1}, 1, values);
    EXPECT_EQ(values, Copy(expected.Find(0, second)));
  }
}

TEST_F(RowPartitionStoreTest, SurvivesRegularIds) {
  RowPartitionStore store(layout_, *rule_);
  std::vector<Key> keys;
  for (uint64_t i = 0; i < 4000; ++i) {
    for (int shift = 0; shift <= 36; shift += 4) keys.emplace_back(1, i << shift);
    keys.emplace_back(0, i);
    keys.emplace_back(2, kIdLimit - 1 - i);
  }
  for (const Key& key : keys) store.FindOrCreate(key.first, key.second);
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  ASSERT_EQ(store.row_count(), std::ssize(keys));
  for (const Key& key : keys) {
    ASSERT_EQ(Copy(store.Find(key.first, key.second)), InitialRow(layout_, key));
  }
}

TEST_F(RowPartitionStoreTest, InitialValuesDependOnNeitherOrderNorPartition) {
  constexpr uint32_t kPartitions = 8;
  constexpr uint64_t kRows = 5000;
  RowPartitionStore forward(layout_, *rule_);
  std::vector<std::unique_ptr<RowPartitionStore>> partitions;
  for (uint32_t i = 0; i < kPartitions; ++i) {
    partitions.push_back(std::make_unique<RowPartitionStore>(layout_, *rule_));
  }
  for (uint64_t i = 0; i < kRows; ++i) {
    forward.FindOrCreate(0, i);
    const uint64_t id = kRows - 1 - i;
    partitions[RowPartition(0, id, kPartitions)]->FindOrCreate(0, id);
  }
  std::map<Key, std::vector<float>> merged;
  for (const auto& partition : partitions) {
    EXPECT_GT(partition->row_count(), 0);
    merged.merge(Rows(*partition));
  }
  EXPECT_EQ(merged, Rows(forward));
}

TEST_F(RowPartitionStoreTest, RowsNeverMove) {
  RowPartitionStore store(layout_, *rule_);
  const std::span<const float> first = store.FindOrCreate(0, 0);
  for (uint64_t id = 1; id < 20'000; ++id) store.FindOrCreate(0, id);
  EXPECT_EQ(store.Find(0, 0).data(), first.data());
}

TEST_F(RowPartitionStoreTest, VisitsRowsInTheOrderOfTheirCreation) {
  RowPartitionStore store(layout_, *rule_);
  std::vector<Key> created, visited;
  RandomStream random(22);
  for (int i = 0; i < 3000; ++i) {
    created.emplace_back(random.NextBelow(3), random.NextBelow(kIdLimit));
    store.FindOrCreate(created.back().first, created.back().second);
  }
  store.ForEachRow([&](uint32_t table, uint64_t id, std::span<const float> values,
                       std::span<const float> state) {
    EXPECT_EQ(values.size(), 4u);
    EXPECT_EQ(state.size(), 1u);
    visited.emplace_back(table, id);
  });
  EXPECT_EQ(visited, created);
}

TEST(RowPartitionStore, RefusesATableWhoseIdsDoNotFitAKey) {
  const ModelLayout layout = MakeLayout({.rows_per_table = (int64_t{1} << 48) + 1});
  const auto rule = MakeRule("sgd", 1);
  EXPECT_DEATH(RowPartitionStore(layout, *rule), "rows of table C1");
}

}  // namespace
}  // namespace weir::store
