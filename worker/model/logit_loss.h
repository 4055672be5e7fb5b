// The loss of a slice from its logits, and their gradients: what is behind the last layer.
//
// Place in the life of a batch: forward -> **loss** -> backward.
// Thread rule: thread-compatible. Borrows kernels.
#pragma once

#include <cstdint>

#include "common/kernels/kernel_table.h"
#include "common/proto/config.pb.h"
#include "worker/data/batch.h"
#include "worker/model/slice.h"
#include "worker/model/stage.h"

namespace weir::model {

class LogitLoss {
 public:
  LogitLoss(const v1::LossConfig& config, const kernels::KernelTable& kernels);

  // stage: the last, after Forward of the slice; its output's gradient is that of the loss's mean
  // over mean_rows rows. Returns the sum of the logloss over the slice.
  double Compute(const data::Batch& batch, const Slice& slice, int64_t mean_rows,
                 Stage* stage) const;

 private:
  const kernels::KernelTable* kernels_;
  kernels::Loss loss_;
};

// The slice's labels.
kernels::ConstVectorView Labels(const data::Batch& batch, const Slice& slice);

}  // namespace weir::model
