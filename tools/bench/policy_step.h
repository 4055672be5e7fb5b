// A worker's training step from forward to the encoded push with a policy, without servers: what
// the policies section times.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/tensor/aligned_buffer.h"
#include "worker/data/batch.h"
#include "worker/model/dlrm.h"
#include "worker/push/step_encoder.h"

namespace weir::bench {

class PolicyStep {
 public:
  // rule: of every layer of the MLPs.
  PolicyStep(int64_t batch_size, const v1::PolicyRule& rule);

  // Forward, loss, backward and, if the policy asks, the sums of squares.
  void Train();
  // Train, then selection and coding; rows are not sent.
  void TrainAndEncode();

 private:
  const v1::Config config_;
  const ModelLayout layout_;
  worker::StepEncoder encoder_;
  worker::StepEncoder::Scratch scratch_;
  model::Dlrm model_;
  tensor::AlignedBuffer parameters_, gradients_, squares_;
  data::Batch batch_;
  std::vector<float> rows_, row_gradients_;
};

}  // namespace weir::bench
