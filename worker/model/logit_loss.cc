#include "worker/model/logit_loss.h"

namespace weir::model {
namespace {

kernels::Loss LossOf(const v1::LossConfig& config) {
  kernels::Loss loss;
  if (config.has_mse()) loss.kind = kernels::Loss::Kind::kSquare;
  if (config.has_weighted_bce()) {
    loss.positive_weight = config.weighted_bce().positive_weight();
    loss.negative_weight = config.weighted_bce().negative_weight();
  }
  return loss;
}

}  // namespace

LogitLoss::LogitLoss(const v1::LossConfig& config, const kernels::KernelTable& kernels)
    : kernels_(&kernels), loss_(LossOf(config)) {}

double LogitLoss::Compute(const data::Batch& batch, const Slice& slice, int64_t mean_rows,
                          Stage* stage) const {
  const kernels::VectorView gradients{stage->output_gradient(slice).data, slice.row_count};
  const kernels::ConstVectorView logits{stage->output(slice).data, slice.row_count};
  const double sum = kernels_->loss(loss_, logits, Labels(batch, slice), gradients);
  if (mean_rows != slice.row_count) {  // what the kernel takes the mean over
    const auto weight =
        static_cast<float>(static_cast<double>(slice.row_count) / static_cast<double>(mean_rows));
    for (int64_t s = 0; s < slice.row_count; ++s) gradients.data[s] *= weight;
  }
  return sum;
}

kernels::ConstVectorView Labels(const data::Batch& batch, const Slice& slice) {
  return {batch.labels.data() + slice.begin, slice.row_count};
}

}  // namespace weir::model
