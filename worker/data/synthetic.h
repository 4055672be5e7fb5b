// The synthetic set: made-up click rows with a hidden teacher, for everything that must run without
// anyone's data, and the only input whose best reachable logloss is known.
//
// Row i is a function of (seed, i): its features (worker/data/synthetic_features.h), its click
// probability (worker/data/teacher.h) and its label, drawn with that probability. Test rows follow
// the training rows. The set does not depend on run.seed, nor on how it is cut into chunks.
//
// Place in the life of a batch: lease -> **read** -> batch.
// Thread rule: SyntheticSet is immutable after construction, any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "worker/data/reader.h"
#include "worker/data/synthetic_features.h"
#include "worker/data/teacher.h"

namespace weir::data {

struct SyntheticRow {
  FeatureRow features;
  double probability = 0;  // of label = 1
  float label = 0;
};

class SyntheticSet {
 public:
  // config: with defaults filled in and valid. Draws a sample of rows first: some 20 ms.
  explicit SyntheticSet(const v1::SyntheticConfig& config);

  int64_t row_count(Split split) const;
  int32_t dense_count() const { return config_.dense_features(); }
  int32_t table_count() const { return config_.tables(); }

  // Row index of a split, in [0, row_count(split)); row's memory is reused.
  void MakeRow(Split split, int64_t index, SyntheticRow* row) const;

 private:
  const v1::SyntheticConfig config_;
  const FeatureModel features_;
  const Teacher teacher_;
};

// The logloss of the one who knows the teacher: mean entropy of the click probability over the
// first max_rows rows of a split, in nats. NaN when there are none, or as soon as stop(), asked
// every few milliseconds, says so: billions of rows take hours.
double BayesLogloss(const v1::SyntheticConfig& config, Split split, int64_t max_rows,
                    const std::function<bool()>& stop = nullptr);

// config.data().synthetic() is set, defaults filled in.
Result<std::unique_ptr<Reader>> MakeSyntheticReader(const v1::Config& config);

}  // namespace weir::data
