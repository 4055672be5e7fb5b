// Features of a made-up row in Criteo's shape: skewed integer counts and power-law categoricals,
// tied together by a few hidden factors per row, so that each feature says a little about the
// others.
//
// Counts are floor(exp(normal)); categoricals follow a power law over id spaces from 3 ids to
// rows_per_table; both go missing in a share of the rows that differs by feature. The shape of each
// feature (its spread, its loadings on the hidden factors) is a function of the seed.
//
// Thread rule: immutable after construction, any thread; a FeatureRow is thread-compatible.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/base/random.h"
#include "common/proto/config.pb.h"

namespace weir::data {

// Hidden factors of a row.
inline constexpr int kFactorCount = 8;

// One row's features; its memory is reused from row to row.
struct FeatureRow {
  std::vector<int64_t> counts;  // [dense_features] -1: missing
  std::vector<float> dense;     // [dense_features] LogCount(counts): 0 when missing
  std::vector<uint64_t> ranks;  // [tables] 0: missing; r: the r-th most frequent id
  std::vector<uint64_t> ids;    // [tables] 0: missing; a fixed permutation of the ranks
};

class FeatureModel {
 public:
  // config: with defaults filled in and valid.
  explicit FeatureModel(const v1::SyntheticConfig& config);

  // The next row of the stream.
  void Draw(RandomStream& random, FeatureRow* row) const;

  size_t dense_count() const { return counts_.size(); }
  size_t table_count() const { return categoricals_.size(); }
  // Ids of a table, 0 (missing) included; every id is below.
  uint64_t id_count(size_t table) const { return categoricals_[table].id_count; }

 private:
  // A standard normal that the hidden factors explain in part.
  struct Loading {
    std::array<float, kFactorCount> factors;
    float own_share;
    double missing_share;
  };
  struct Count {
    Loading loading;
    float log_mean, log_deviation;
  };
  struct Categorical {
    Loading loading;
    uint64_t id_count;
    uint64_t multiplier;  // coprime to id_count - 1: permutes the ids
    float tail;           // 1 - (id_count)^(1 - exponent)
    float root;           // 1 / (1 - exponent)
  };

  static Loading MakeLoading(RandomStream& random);
  static Categorical MakeCategorical(RandomStream& random, size_t table, uint64_t rows_per_table);

  std::vector<Count> counts_;
  std::vector<Categorical> categoricals_;
};

}  // namespace weir::data
