#include "tools/data/run_proposal.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace weir::tools {
namespace {

constexpr int64_t kFewRows = 200'000;
constexpr int64_t kManyRows = 2'000'000;
constexpr int32_t kDimension = 16;
constexpr int32_t kBatchSize = 128, kSmallBatchSize = 32;

void ProposeModel(const DataSize& size, v1::ModelConfig* model) {
  model->set_embedding_dimension(kDimension);
  const bool is_large = !size.is_whole || size.row_count > kManyRows;
  const bool is_small = size.is_whole && size.row_count <= kFewRows;
  const int32_t width = is_large ? 512 : is_small ? 64 : 256;
  if (size.has_numbers) {
    if (is_large) model->add_bottom_widths(width);
    if (!is_small) model->add_bottom_widths(is_large ? 256 : width);
    for (const int32_t next : {64, kDimension}) model->add_bottom_widths(next);
  }
  model->add_top_widths(width);
  for (const int32_t next : {is_small ? 32 : width / 2, 1}) model->add_top_widths(next);
}

// Some 400,000 rows seen are enough for a small model, and a few hundred steps are the least.
int32_t Epochs(const DataSize& size, int64_t steps_of_epoch) {
  constexpr int64_t kSeen = 400'000, kMost = 30, kLeastSteps = 300;
  const int64_t rows_of_value = size.row_count / std::max<int64_t>(1, size.value_count);
  const int64_t most = rows_of_value >= 100 ? kMost : rows_of_value >= 3 ? 4 : 1;
  const int64_t least = std::min(kMost, 1 + (kLeastSteps - 1) / steps_of_epoch);
  const int64_t wanted = std::clamp<int64_t>(kSeen / size.row_count, 1, most);
  return static_cast<int32_t>(std::max(least, wanted));
}

// Of rows of tables: what a rare value has learned by heart fades over the run, what is learned of
// others again and again stays.
double WeightDecay(int64_t steps) {
  constexpr double kOfRun = 5600, kMost = 2;
  return std::min(kMost, std::round(100 * kOfRun / static_cast<double>(steps)) / 100);
}

void FallingAdam(double learning_rate, int64_t steps, v1::UpdateRule* rule) {
  rule->mutable_adam()->set_learning_rate(learning_rate);
  rule->mutable_schedule()->mutable_cosine()->set_steps(steps);
}

}  // namespace

void ProposeRun(const DataSize& size, v1::Config* config) {
  ProposeModel(size, config->mutable_model());
  v1::DataConfig& data = *config->mutable_data();
  const bool is_tiny = size.is_whole && size.row_count < 5000;
  data.set_batch_size(is_tiny ? kSmallBatchSize : kBatchSize);
  data.set_shuffle(true);
  if (!size.is_whole) return data.set_epochs(1);
  const int64_t steps_of_epoch = 1 + (size.row_count - 1) / data.batch_size();
  data.set_epochs(Epochs(size, steps_of_epoch));
  // To see whether the last epoch was the best one.
  if (data.epochs() > 1 && data.test_size() > 0)
    config->mutable_run()->set_evaluate_every_samples(size.row_count);
  const int64_t steps = steps_of_epoch * data.epochs();
  FallingAdam(0.001, steps, config->mutable_update()->mutable_dense());
  FallingAdam(0.003, steps, config->mutable_update()->mutable_rows());
  config->mutable_update()->mutable_rows()->set_weight_decay(WeightDecay(steps));
}

}  // namespace weir::tools
