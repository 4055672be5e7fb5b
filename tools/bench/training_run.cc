#include "tools/bench/training_run.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "common/config/validate_config.h"
#include "tools/bench/dlrm_shape.h"
#include "tools/bench/measure.h"
#include "worker/model/kernels_for.h"

namespace weir::bench {

v1::Config TrainingConfig(int64_t batch_size, v1::ModelConfig::Precision precision) {
  v1::Config config;
  config.mutable_model()->set_precision(precision);
  v1::DataConfig& data = *config.mutable_data();
  data.set_batch_size(static_cast<int32_t>(batch_size));
  data.mutable_synthetic()->set_dense_features(kDenseFeatures);
  data.mutable_synthetic()->set_tables(kTables);
  data.mutable_synthetic()->set_rows_per_table(kTableRows);
  // No rate changes the time of a step; with this one threads whose steps overlap learn as well.
  config.mutable_update()->mutable_dense()->mutable_sgd()->set_learning_rate(0.05);
  config.mutable_update()->mutable_rows()->mutable_sgd()->set_learning_rate(0.05);
  config::FillDefaults(&config);
  const auto violations = config::ValidateConfig(config);
  CHECK(violations.empty()) << violations.front();
  return config;
}

data::RowBlock RandomRows(int64_t row_count) {
  data::RowBlock rows;
  rows.dense_count = kDenseFeatures;
  rows.table_count = kTables;
  RandomStream random(1);
  for (int64_t r = 0; r < row_count; ++r) {
    const size_t first = rows.dense.size();
    for (int i = 0; i < kDenseFeatures; ++i) {
      rows.dense.push_back(static_cast<float>(random.NextUnit()));
    }
    rows.labels.push_back(rows.dense[first] < 0.5f ? 0.0f : 1.0f);
    for (int t = 0; t < kTables; ++t) rows.ids.push_back(random.NextBelow(kTableRows));
  }
  return rows;
}

Status CreateAllRows(worker::EmbeddedClient* client) {
  if (client->has_rows_on_device()) return OkStatus();  // they are there from the start
  constexpr int64_t kBatch = 2048;
  std::vector<uint64_t> order(kTableRows);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::minstd_rand(1));
  data::RowBlock rows;
  rows.dense_count = 0;
  rows.table_count = kTables;
  rows.labels.resize(kTableRows);
  for (const uint64_t id : order) rows.ids.insert(rows.ids.end(), kTables, id);
  data::Batch batch;
  std::vector<float> values(kBatch * kTables * kDimension);
  for (int64_t begin = 0; begin < kTableRows; begin += kBatch) {
    const int64_t end = std::min<int64_t>(begin + kBatch, kTableRows);
    data::MakeBatch(rows, begin, end, &batch);
    const auto pull = client->PullRows(batch, /*read_only=*/false);
    const auto count = static_cast<size_t>((end - begin) * kTables * kDimension);
    WEIR_RETURN_IF_ERROR(client->AwaitRows(pull.get(), std::span(values).first(count)));
  }
  return OkStatus();
}

Status VerifyLearning(double first_logloss, double last_logloss) {
  if (last_logloss > 0 && last_logloss < first_logloss) return OkStatus();
  return Internal(
      StrCat("the mean logloss of a pass was ", first_logloss, " at first and is ", last_logloss));
}

TrainingRun::TrainingRun(int64_t batch_size, int thread_count, v1::ModelConfig::Precision precision)
    : TrainingRun(batch_size, thread_count, precision,
                  model::CpuComputeFor(TrainingConfig(batch_size, precision).model())) {}

TrainingRun::TrainingRun(int64_t batch_size, int thread_count, v1::ModelConfig::Precision precision,
                         const kernels::Compute& compute)
    : batch_size_(batch_size),
      config_(TrainingConfig(batch_size, precision)),
      layout_(config_, 1),
      client_(config_, layout_, compute),
      trainer_(std::make_unique<worker::Trainer>(config_, layout_, compute, thread_count, &client_,
                                                 [this](const Status& s) { failure_ = s; })) {
  failure_ = CreateAllRows(&client_);
}

Result<double> TrainingRun::Train(const data::RowBlock& rows) {
  WEIR_RETURN_IF_ERROR(failure_);
  v1::ChunkLease lease;
  lease.set_split(v1::TRAIN);
  const auto chunk = std::make_shared<worker::ChunkWork>(lease, rows, batch_size_);
  v1::WorkerReport before;
  trainer_->FillReport(&before);
  bool finished = false;
  const double seconds = Seconds([&] {
    trainer_->Add(chunk);
    finished = chunk->AwaitFinished().has_value();
  });
  if (!finished) {
    trainer_.reset();  // its threads have told their failure once they are joined
    return failure_;
  }
  v1::WorkerReport after;
  trainer_->FillReport(&after);
  last_logloss_ = (after.logloss_sum() - before.logloss_sum()) /
                  static_cast<double>(after.samples() - before.samples());
  if (first_logloss_ == 0) first_logloss_ = last_logloss_;
  return seconds;
}

}  // namespace weir::bench
