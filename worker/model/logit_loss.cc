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

LogitLoss::LogitLoss(const v1::LossConfig& config, const kernels::Compute& compute)
    : kernels_(compute.kernels),
      looks_(compute.turns_hidden),
      loss_(LossOf(config)),
      sum_(*compute.device, 1, "the loss") {}

void LogitLoss::Compute(device::Stream& stream, const DeviceBatch& batch, const Slice& slice,
                        int64_t mean_rows, Stage* stage) const {
  kernels_->loss(stream, loss_, {stage->output(slice).data, slice.row_count}, batch.Labels(slice),
                 mean_rows, {stage->output_gradient(slice).data, slice.row_count},
                 sum_.device().data);
}

void LogitLoss::NoteNotFinite(device::Stream& stream, device::Span<const float> values) const {
  if (!looks_) return;
  kernels_->note_not_finite(stream, {values.data, static_cast<int64_t>(values.size)},
                            sum_.device().data);
}

Result<double> LogitLoss::AwaitSum(device::Stream& stream) const {
  WEIR_RETURN_IF_ERROR(stream.Synchronize());
  return sum_.host().front();
}

}  // namespace weir::model
