// A training run in this process, without servers, on rows that are already in memory: what the
// train section times.
//
// Thread rule: one thread; the run starts its own Hogwild threads.
#pragma once

#include <cstdint>
#include <memory>

#include "common/base/status.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "worker/data/batch.h"
#include "worker/embedded/embedded_client.h"
#include "worker/trainer.h"

namespace weir::bench {

// The paper's model (dlrm_shape.h), SGD, no servers.
v1::Config TrainingConfig(int64_t batch_size,
                          v1::ModelConfig::Precision precision = v1::ModelConfig::F32);

// Uniform ids, so that the batches share few rows; labels that the first dense feature decides.
data::RowBlock RandomRows(int64_t row_count);

// All rows of the model's tables, in random order: what training meets in a table that was trained
// for long, where the batches of a bench would otherwise lay their rows out in their own order.
Status CreateAllRows(worker::EmbeddedClient* client);

// Passes over the same rows before measuring. The mean logloss of the last pass must be below that
// of the first: an update that does nothing is fast, too.
inline constexpr int kWarmUpPasses = 4;
Status VerifyLearning(double first_logloss, double last_logloss);

class TrainingRun {
 public:
  TrainingRun(int64_t batch_size, int thread_count,
              v1::ModelConfig::Precision precision = v1::ModelConfig::F32);
  // On the device of `compute`, whose precision is that of the model.
  TrainingRun(int64_t batch_size, int thread_count, v1::ModelConfig::Precision precision,
              const kernels::Compute& compute);

  // Trains on the rows once, in batches of the size given above. Returns the seconds it took.
  Result<double> Train(const data::RowBlock& rows);

  // Of the first Train and the last.
  Status Verify() const { return VerifyLearning(first_logloss_, last_logloss_); }

 private:
  const int64_t batch_size_;
  const v1::Config config_;
  const ModelLayout layout_;
  worker::EmbeddedClient client_;
  Status failure_;
  std::unique_ptr<worker::Trainer> trainer_;
  double first_logloss_ = 0, last_logloss_ = 0;  // means over the samples; 0: none
};

}  // namespace weir::bench
