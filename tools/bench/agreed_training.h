// Trainers that agree on what they send (common/compress/proposer.h), in this process and in
// rounds: each computes the gradients of its own batch of synthetic rows at the same parameters,
// and the mean of what all take is applied. The paper's model (dlrm_shape.h), SGD.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/compress/policy.h"
#include "common/compress/range_select.h"
#include "common/layout/model_layout.h"
#include "common/tensor/aligned_buffer.h"
#include "worker/data/batch.h"
#include "worker/data/reader.h"
#include "worker/embedded/embedded_client.h"
#include "worker/model/dlrm.h"

namespace weir::bench {

class AgreedTraining {
 public:
  // rule: of a policy with a proposer; its defaults are filled in.
  AgreedTraining(const v1::PolicyRule& rule, uint32_t trainers, int64_t batch_size);

  struct Round {
    std::vector<int64_t> proposed;  // elements, by rank
    int64_t union_count = 0;
    double threshold = 0;
    double residual_norm = 0;  // L2, of what is not sent then; mean over the trainers
    double logloss = 0;        // mean of the batches
  };
  Result<Round> Next();

  int64_t element_count() const { return layout_.dense_element_count(); }

 private:
  // What one trainer keeps between rounds and within one.
  struct Trainer {
    std::vector<std::unique_ptr<compress::PolicyState>> states;  // of each tensor
    std::vector<compress::Residual*> residuals;
    std::unique_ptr<compress::RangeSelect> ranges;  // of them
    std::unique_ptr<compress::Proposer> proposer;
    compress::Proposal proposal;
    data::Batch batch;
    std::unique_ptr<worker::RowPull> pull;
    tensor::AlignedBuffer row_gradients;
    size_t row_elements = 0;
  };

  void AddTrainer();
  Result<double> Compute(const data::RowBlock& rows, size_t rank);
  void Propose(size_t rank);
  // Of each tensor, ascending.
  std::vector<std::vector<uint32_t>> Union() const;
  // Moves what is agreed from residuals into the gradient that is applied.
  void Take(const std::vector<std::vector<uint32_t>>& agreed);
  void Learn(uint64_t union_count);
  Status Apply();
  double ResidualNorm() const;

  const int64_t batch_size_;
  const v1::Config config_;
  const ModelLayout layout_;
  const std::unique_ptr<const compress::Policy> policy_;
  worker::EmbeddedClient client_;
  model::Dlrm model_;
  std::unique_ptr<data::Reader> reader_;
  std::vector<Trainer> trainers_;
  tensor::AlignedBuffer gradients_, mean_, nothing_, rows_;
  uint64_t step_ = 0;
};

}  // namespace weir::bench
