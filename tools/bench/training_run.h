// A training run in this process, without servers, on rows that are already in memory: what the
// train section times.
//
// Thread rule: one thread; the run starts its own Hogwild threads.
#pragma once

#include <cstdint>
#include <memory>

#include "common/base/status.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "worker/data/batch.h"
#include "worker/embedded_client.h"
#include "worker/trainer.h"

namespace weir::bench {

// The paper's model (dlrm_shape.h), SGD, no servers.
v1::Config TrainingConfig(int64_t batch_size,
                          v1::ModelConfig::Precision precision = v1::ModelConfig::F32);

// Uniform ids, so that the batches share few rows, and labels that nothing can be learned from.
data::RowBlock RandomRows(int64_t row_count);

// Fails unless a pass over them, after kWarmUpPasses others, has a mean logloss near log 2 or, when
// the model learns the labels by heart, below it.
Status VerifyLogloss(const char* section, double logloss);
inline constexpr int kWarmUpPasses = 4;

class TrainingRun {
 public:
  TrainingRun(int64_t batch_size, int thread_count,
              v1::ModelConfig::Precision precision = v1::ModelConfig::F32);

  // Trains on the rows once, in batches of the size given above. Returns the seconds it took.
  Result<double> Train(const data::RowBlock& rows);

  // The mean logloss of the samples of the last Train.
  double last_logloss() const { return last_logloss_; }

 private:
  const int64_t batch_size_;
  const v1::Config config_;
  const ModelLayout layout_;
  worker::EmbeddedClient client_;
  Status failure_;
  std::unique_ptr<worker::Trainer> trainer_;
  double last_logloss_ = 0;
};

}  // namespace weir::bench
