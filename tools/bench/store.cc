// Embedding rows of one partition on one core: 10 million rows exist, and batches of ids come as a
// worker sends them. 512 samples draw an id of each of 26 tables from a Zipf law of exponent 1.05;
// a table's distinct ids come ascending. Which ids are hot is random, so hot rows are no
// neighbours.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "common/layout/model_layout.h"
#include "common/store/row_table.h"
#include "common/store/update_rule.h"
#include "common/tensor/aligned_buffer.h"
#include "tools/bench/dlrm_shape.h"
#include "tools/bench/growing_rows.h"
#include "tools/bench/measure.h"
#include "tools/bench/sections.h"
#include "tools/bench/watched_rows.h"

namespace weir::bench {
namespace {

using store::RowPartitionStore;

constexpr int64_t kSamples = 512;
constexpr double kExponent = 1.05;
constexpr double kReadGoal = 6, kUpdateGoal = 3;  // M rows/s
// How far ahead of its use the flat array asks for a row.
constexpr size_t kFlatAhead = 16;
// The most take 1.4 GB.
constexpr int64_t kGrowingRows = 50'000'000, kQuickGrowingRows = 200'000;

struct Sizes {
  explicit Sizes(const Options& options)
      : rows_per_table((options.quick ? 100'000 : 10'000'000) / kTables),
        batches(options.quick ? 4 : 200) {}
  int64_t rows_per_table;
  int batches;
};

v1::Config StoreConfig(int64_t rows_per_table) {
  v1::Config config;
  config.mutable_data()->mutable_synthetic()->set_rows_per_table(rows_per_table);
  v1::AdagradRule* rule = config.mutable_update()->mutable_rows()->mutable_rowwise_adagrad();
  rule->set_learning_rate(0.01);
  config::FillDefaults(&config);
  return config;
}

// Ids of a Zipf law, scattered.
class ZipfIds {
 public:
  explicit ZipfIds(int64_t count)
      : cumulative_(static_cast<size_t>(count)), ids_(static_cast<size_t>(count)) {
    double sum = 0;
    for (size_t rank = 0; rank < cumulative_.size(); ++rank) {
      cumulative_[rank] = sum += std::pow(static_cast<double>(rank + 1), -kExponent);
    }
    std::iota(ids_.begin(), ids_.end(), uint64_t{0});
    RandomStream random(1);
    for (size_t i = ids_.size(); i > 1; --i) std::swap(ids_[i - 1], ids_[random.NextBelow(i)]);
  }

  uint64_t Draw(RandomStream& random) const {
    const double at = random.NextUnit() * cumulative_.back();
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), at);
    const auto rank = static_cast<size_t>(found - cumulative_.begin());
    return ids_[std::min(rank, ids_.size() - 1)];
  }

 private:
  std::vector<double> cumulative_;
  std::vector<uint64_t> ids_;
};

std::vector<BatchRows> MakeBatches(const Sizes& sizes) {
  const ZipfIds zipf(sizes.rows_per_table);
  RandomStream random(2);
  std::vector<BatchRows> batches(static_cast<size_t>(sizes.batches));
  std::vector<uint64_t> ids(kSamples);
  for (BatchRows& batch : batches) {
    for (uint32_t table = 0; table < kTables; ++table) {
      for (uint64_t& id : ids) id = zipf.Draw(random);
      std::sort(ids.begin(), ids.end());
      const auto end = std::unique(ids.begin(), ids.end());
      for (auto id = ids.begin(); id != end; ++id) {
        batch.push_back({table, static_cast<uint32_t>(batch.size()), *id});
      }
    }
  }
  return batches;
}

size_t RowsOf(const std::vector<BatchRows>& batches) {
  size_t count = 0;
  for (const BatchRows& batch : batches) count += batch.size();
  return count;
}

// The same rows in one array, and no way to find them but their number.
class FlatRows {
 public:
  FlatRows(const Sizes& sizes, const std::vector<BatchRows>& batches)
      : values_(static_cast<size_t>(sizes.rows_per_table * kTables * kDimension)) {
    for (const BatchRows& batch : batches) {
      std::vector<uint32_t>& rows = batches_.emplace_back();
      for (const store::BatchRow& row : batch) {
        rows.push_back(static_cast<uint32_t>(
            row.table * static_cast<uint64_t>(sizes.rows_per_table) + row.id));
      }
    }
  }

  void Read(float* out) {
    for (const auto& rows : batches_) {
      for (size_t i = 0; i < rows.size(); ++i) {
        Prefetch(rows, i + kFlatAhead);
        std::memcpy(out + i * kDimension, Row(rows[i]), kDimension * sizeof(float));
      }
      KeepAlive(out);
    }
  }

  void Update(const float* gradients) {
    for (const auto& rows : batches_) {
      for (size_t i = 0; i < rows.size(); ++i) {
        Prefetch(rows, i + kFlatAhead);
        float* row = Row(rows[i]);
        for (size_t j = 0; j < kDimension; ++j) row[j] -= 0.01f * gradients[i * kDimension + j];
      }
    }
    KeepAlive(values_.data());
  }

 private:
  float* Row(uint32_t row) { return values_.data() + size_t{row} * kDimension; }
  void Prefetch(const std::vector<uint32_t>& rows, size_t i) {
    if (i < rows.size()) __builtin_prefetch(Row(rows[i]), 1);
  }

  tensor::AlignedBuffer values_;
  std::vector<std::vector<uint32_t>> batches_;
};

void CreateRows(const Sizes& sizes, RowPartitionStore* store) {
  for (uint32_t table = 0; table < kTables; ++table) {
    for (int64_t id = 0; id < sizes.rows_per_table; ++id) {
      store->FindOrCreate(table, static_cast<uint64_t>(id));
    }
  }
}

// goal: M rows/s.
Line RowsLine(const std::string& name, double ours, double flat, double goal) {
  return {.name = name,
          .value = ours,
          .unit = "M rows/s",
          .peer = "flat array, same ids",
          .peer_value = flat,
          .goal = goal / flat};
}

Result<Lines> KnownRowLines(const Options& options) {
  const Sizes sizes(options);
  const v1::Config config = StoreConfig(sizes.rows_per_table);
  const ModelLayout layout(config, 1);
  const auto rule = store::MakeUpdateRule(config.update().rows());
  RowPartitionStore rows(layout, *rule);
  CreateRows(sizes, &rows);
  const std::vector<BatchRows> batches = MakeBatches(sizes);
  FlatRows flat(sizes, batches);
  WatchedRows watched(layout, *rule, batches);
  tensor::AlignedBuffer matrix(kSamples * kTables * kDimension), gradients(matrix.size());
  RandomStream random(3);
  for (float& g : gradients.span()) g = static_cast<float>(random.NextUnit() - 0.5);

  const auto read = MedianSeconds(options.repeats, {[&] {
                                                      for (const BatchRows& batch : batches)
                                                        rows.ReadBatch(batch, kStep, matrix.span());
                                                    },
                                                    [&] { flat.Read(matrix.data()); }});
  rows.ReadBatch(batches.back(), kStep, matrix.span());
  WEIR_RETURN_IF_ERROR(VerifyRead(rows, batches.back(), matrix.span()));

  const auto update =
      MedianSeconds(options.repeats, {[&] {
                                        for (const BatchRows& batch : batches) {
                                          rows.ApplyBatch(batch, gradients.span(), kStep);
                                        }
                                      },
                                      [&] { flat.Update(gradients.data()); }});
  for (int pass = 0; pass < options.repeats + 1; ++pass) watched.Update(gradients.span());
  WEIR_RETURN_IF_ERROR(watched.Verify(rows));

  const double count = static_cast<double>(RowsOf(batches)) / 1e6;
  return Lines{RowsLine("store/row_reads", count / read[0], count / read[1], kReadGoal),
               RowsLine("store/row_updates", count / update[0], count / update[1], kUpdateGoal)};
}

}  // namespace

Result<Lines> BenchStore(const Options& options) {
  WEIR_ASSIGN_OR_RETURN(Lines lines, KnownRowLines(options));
  WEIR_ASSIGN_OR_RETURN(const Lines growing,
                        GrowingRowLines(options.quick ? kQuickGrowingRows : kGrowingRows));
  lines.insert(lines.end(), growing.begin(), growing.end());
  return lines;
}

}  // namespace weir::bench
