#include "tools/bench/growing_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/check.h"
#include "common/config/defaults.h"
#include "common/layout/model_layout.h"
#include "common/store/row_table.h"
#include "common/store/update_rule.h"
#include "tools/bench/measure.h"

namespace weir::bench {
namespace {

constexpr int64_t kPullRows = 4096;
constexpr uint64_t kLastStep = 1;

// Of one element, so that many rows fit the memory, and finding them is most of the work.
v1::Config SmallRowsConfig(int64_t row_count) {
  v1::Config config;
  config.mutable_data()->mutable_synthetic()->set_rows_per_table(row_count + kPullRows);
  config.mutable_model()->set_embedding_dimension(1);
  config.mutable_update()->mutable_rows()->mutable_rowwise_adagrad()->set_learning_rate(0.01);
  config::FillDefaults(&config);
  return config;
}

struct Pulls {
  std::vector<double> microseconds;
  std::vector<double> sums;  // of the values that each gave
};

Pulls PullAll(store::RowPartitionStore& rows, int64_t row_count) {
  std::vector<store::BatchRow> batch(kPullRows);
  std::vector<float> values(kPullRows);
  Pulls pulls;
  for (int64_t first = 0; first < row_count; first += kPullRows) {
    for (uint32_t i = 0; i < kPullRows; ++i) {
      batch[i] = {0, i, static_cast<uint64_t>(first) + i};
    }
    pulls.microseconds.push_back(1e6 * Seconds([&] { rows.ReadBatch(batch, kLastStep, values); }));
    pulls.sums.push_back(std::accumulate(values.begin(), values.end(), 0.0));
  }
  return pulls;
}

Line PullLine(const std::string& name, double share, const PullTimes& growing,
              const PullTimes& grown) {
  return {.name = name,
          .value = growing.Quantile(share),
          .unit = "us",
          .peer = "the same of these pulls when the rows are there",
          .peer_value = grown.Quantile(share),
          .better = Better::kLess};
}

}  // namespace

PullTimes::PullTimes(std::vector<double> microseconds) : sorted_(std::move(microseconds)) {
  CHECK(!sorted_.empty());
  std::ranges::sort(sorted_);
}

double PullTimes::Quantile(double share) const {
  const double rank = std::ceil(share * static_cast<double>(sorted_.size()));
  return sorted_[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

Result<Lines> GrowingRowLines(int64_t row_count) {
  const v1::Config config = SmallRowsConfig(row_count);
  const ModelLayout layout(config, 1);
  const auto rule = store::MakeUpdateRule(config.update().rows());
  store::RowPartitionStore rows(layout, *rule);
  const Pulls first = PullAll(rows, row_count), again = PullAll(rows, row_count);
  if (first.sums != again.sums)
    return Internal("a pull gave other values when its rows were there");
  const PullTimes growing(first.microseconds), grown(again.microseconds);
  return Lines{PullLine("store/growing/median", 0.5, growing, grown),
               PullLine("store/growing/p99", 0.99, growing, grown),
               PullLine("store/growing/slowest", 1, growing, grown)};
}

}  // namespace weir::bench
