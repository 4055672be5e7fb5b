#include "worker/data/synthetic.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/random_streams.h"
#include "worker/data/chunk_lines.h"

namespace weir::data {
namespace {

double Entropy(double p) { return -p * std::log(p) - (1 - p) * std::log1p(-p); }

// Of whole numbers: the others may differ in their last bits between machines.
uint64_t HashOf(const SyntheticRow& row, uint64_t before) {
  uint64_t hash = Mix64(before ^ static_cast<uint64_t>(row.label));
  for (const uint64_t id : row.features.ids) hash = Mix64(hash ^ id);
  return hash;
}

class SyntheticReader : public Reader {
 public:
  explicit SyntheticReader(const v1::DataConfig& data)
      : set_(data.synthetic()), rows_per_chunk_(int64_t{data.batch_size()} * data.chunk_batches()) {
    CHECK_GE(rows_per_chunk_, 1);
  }

  Result<ChunkResult> ReadColumns(const ChunkId& chunk, const ColumnChoice& choice,
                                  RowBlock* block) override {
    WEIR_ASSIGN_OR_RETURN(const int64_t first_row,
                          FirstLine(chunk, file_count(chunk.split), rows_per_chunk_));
    const int64_t row_count = set_.row_count(chunk.split);
    const int64_t begin = std::min(row_count, first_row);
    const int64_t end = std::min(row_count, begin + rows_per_chunk_);
    block->Clear();
    for (int64_t i = begin; i < end; ++i) {
      set_.MakeRow(chunk.split, i, &row_);
      const FeatureRow& features = row_.features;
      block->labels.push_back(row_.label);
      if (choice.hash) block->hash = HashOf(row_, block->hash);
      if (choice.dense) {
        block->dense.insert(block->dense.end(), features.dense.begin(), features.dense.end());
      }
      if (choice.ids) block->ids.insert(block->ids.end(), features.ids.begin(), features.ids.end());
    }
    block->dense_count = choice.dense ? set_.dense_count() : 0;
    block->table_count = choice.ids ? set_.table_count() : 0;
    ChunkResult result;
    result.line_count = end - begin;
    result.end_of_file = end == row_count;
    return result;
  }

  int32_t file_count(Split) const override { return 1; }

 private:
  const SyntheticSet set_;
  const int64_t rows_per_chunk_;
  SyntheticRow row_;  // reused
};

}  // namespace

SyntheticSet::SyntheticSet(const v1::SyntheticConfig& config)
    : config_(config), features_(config), teacher_(config, features_) {}

int64_t SyntheticSet::row_count(Split split) const {
  return split == Split::kTrain ? config_.rows() : config_.test_rows();
}

void SyntheticSet::MakeRow(Split split, int64_t index, SyntheticRow* row) const {
  DCHECK(index >= 0 && index < row_count(split)) << index;
  const int64_t position = split == Split::kTrain ? index : config_.rows() + index;
  RandomStream random(config_.seed(), SyntheticStream::kRow, position);
  features_.Draw(random, &row->features);
  row->probability = teacher_.ClickProbability(row->features);
  row->label = random.NextUnit() < row->probability ? 1.0f : 0.0f;
}

double BayesLogloss(const v1::SyntheticConfig& config, Split split, int64_t max_rows,
                    const std::function<bool()>& stop) {
  constexpr int64_t kRowsBetweenStops = 4096;
  const SyntheticSet set(config);
  const int64_t row_count = std::min(max_rows, set.row_count(split));
  SyntheticRow row;
  double sum = 0;
  for (int64_t i = 0; i < row_count; ++i) {
    if (i % kRowsBetweenStops == 0 && stop && stop()) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    set.MakeRow(split, i, &row);
    sum += Entropy(row.probability);
  }
  return sum / static_cast<double>(row_count);
}

Result<std::unique_ptr<Reader>> MakeSyntheticReader(const v1::Config& config) {
  return std::unique_ptr<Reader>(std::make_unique<SyntheticReader>(config.data()));
}

}  // namespace weir::data
