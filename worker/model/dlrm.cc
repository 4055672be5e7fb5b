#include "worker/model/dlrm.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"
#include "common/base/timed.h"
#include "common/device/repeat_key.h"
#include "worker/model/batch_shapes.h"

namespace weir::model {
namespace {

std::vector<Stage> MakeStages(const ModelLayout& layout, const kernels::Compute& compute,
                              const compress::SquareSumsOfTensors& squares) {
  std::vector<Stage> stages;
  for (const StageSpec& spec : layout.stages()) {
    stages.emplace_back(layout, spec, compute, compute.slice_rows, squares);
  }
  return stages;
}

}  // namespace

Dlrm::Dlrm(const ModelLayout& layout, const kernels::Compute& compute,
           const compress::SquareSumsOfTensors& squares, uint64_t split_seed)
    : layout_(&layout),
      kernels_(compute.kernels),
      slice_rows_(compute.slice_rows),
      tells_behind_(!compute.device->is_host()),
      loss_(layout.model().loss(), compute),
      batch_(*compute.device),
      stages_(MakeStages(layout, compute, squares)),
      probabilities_(*compute.device, static_cast<size_t>(slice_rows_), "probabilities") {
  for (uint32_t i = 0; i + 1 < stages_.size(); ++i)
    splits_.emplace_back(layout, i, split_seed, compute);
}

Result<double> Dlrm::Train(device::Stream& stream, device::Pointer<const float> parameters,
                           const data::Batch& batch, device::Span<const float> rows,
                           int64_t mean_rows, const GradientBuffers& gradients) {
  WEIR_RETURN_IF_ERROR(StartTraining(stream, parameters, batch, rows, mean_rows, gradients));
  return AwaitLoss();
}

Status Dlrm::StartTraining(device::Stream& stream, device::Pointer<const float> parameters,
                           const data::Batch& batch, device::Span<const float> rows,
                           int64_t mean_rows, const GradientBuffers& gradients) {
  const Input input{stream, parameters, rows};
  Begin(input, batch);
  CheckShapes(*layout_, batch, gradients.rows.size);
  loss_sum_ = 0;
  last_.reset();
  if (batch.row_count == 0) ZeroGradients(stream, gradients);
  for (int64_t begin = 0; begin < batch.row_count; begin += slice_rows_) {
    WEIR_RETURN_IF_ERROR(AddLoss());
    const Slice slice = SliceAt(batch.row_count, begin, slice_rows_);
    if (splits_.empty()) {
      RepeatSlice(input, slice, mean_rows, gradients);
    } else {
      WEIR_RETURN_IF_ERROR(TrainSlice(input, slice, mean_rows, gradients));
    }
    last_.emplace(input, slice);
    last_gradients_ = gradients.dense;
  }
  return OkStatus();
}

Result<double> Dlrm::AwaitLoss() {
  WEIR_RETURN_IF_ERROR(AddLoss());
  return loss_sum_;
}

Status Dlrm::AddLoss() {
  if (!last_) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(const double of_slice, loss_.AwaitSum(last_->first.stream));
  loss_sum_ += of_slice;
  return std::isfinite(loss_sum_) ? OkStatus() : Diverged();
}

Status Dlrm::TrainSlice(const Input& input, const Slice& slice, int64_t mean_rows,
                        const GradientBuffers& gradients) {
  if (slice.begin == 0) {
    input.stream.Zero(gradients.rows);
    input.stream.Zero(gradients.row_squares);
  }
  PassTimes unasked;
  PassTimes& times = gradients.times == nullptr ? unasked : *gradients.times;
  {
    const Timed timed(&times.forward);
    WEIR_RETURN_IF_ERROR(Forward(input, slice, Crossing::kAsTrained));
    loss_.Compute(input.stream, batch_, slice, mean_rows, &stages_.back());
  }
  const Timed timed(&times.backward);
  WEIR_RETURN_IF_ERROR(Backward(input, slice, gradients));
  const auto flat_count = static_cast<size_t>(layout_->flat_element_count());
  loss_.NoteNotFinite(input.stream, {input.parameters, flat_count});
  loss_.NoteNotFinite(input.stream, {gradients.dense, flat_count});
  loss_.StartDownload(input.stream);
  return OkStatus();
}

void Dlrm::RepeatSlice(const Input& input, const Slice& slice, int64_t mean_rows,
                       const GradientBuffers& gradients) {
  const uint64_t key = device::RepeatKey(device::Repeated::kSlice, batch_.LayoutKey(), slice.begin,
                                         slice.row_count, mean_rows, input.parameters, input.rows,
                                         gradients.dense, gradients.rows, gradients.row_squares);
  GradientBuffers repeated = gradients;
  if (tells_behind_) repeated.listener = nullptr;
  input.stream.Repeat("forward and backward", key, [&] {
    const Status status = TrainSlice(input, slice, mean_rows, repeated);
    CHECK(status.ok()) << status;  // splits alone can fail
  });
  if (tells_behind_ && IsLast(slice, batch_.row_count()))
    TellWhole(stages_, input.stream, gradients.listener);
}

Status Dlrm::Score(device::Stream& stream, device::Pointer<const float> parameters,
                   const data::Batch& batch, device::Span<const float> rows,
                   std::span<float> probabilities, Crossing crossing) {
  const Input input{stream, parameters, rows};
  Begin(input, batch);
  CHECK_EQ(std::ssize(probabilities), batch.row_count);
  for (int64_t begin = 0; begin < batch.row_count; begin += slice_rows_) {
    const Slice slice = SliceAt(batch.row_count, begin, slice_rows_);
    const auto count = static_cast<size_t>(slice.row_count);
    WEIR_RETURN_IF_ERROR(Forward(input, slice, crossing));
    kernels_->sigmoid(stream, {stages_.back().output(slice).data, slice.row_count},
                      {probabilities_.device().data, slice.row_count});
    probabilities_.Download(stream, count);
    WEIR_RETURN_IF_ERROR(stream.Synchronize());
    std::ranges::copy(probabilities_.host().first(count),
                      probabilities.begin() + static_cast<ptrdiff_t>(slice.begin));
  }
  return OkStatus();
}

void Dlrm::Begin(const Input& input, const data::Batch& batch) {
  CheckShapes(*layout_, batch, input.rows.size);
  batch_.Set(batch, input.stream);
  for (SplitCrossing& split : splits_) split.NextBatch();
}

Status Dlrm::Forward(const Input& input, const Slice& slice, Crossing crossing) {
  for (size_t i = 0; i < stages_.size(); ++i) {
    stages_[i].Forward(input.stream, input.parameters, batch_, slice, input.rows);
    if (i == splits_.size()) break;
    const bool is_whole = crossing == Crossing::kWhole || (crossing == Crossing::kOfSampleAlone &&
                                                           !splits_[i].is_of_sample_alone());
    SplitCrossing& split = splits_[i];
    WEIR_RETURN_IF_ERROR(is_whole
                             ? split.ForwardWhole(input.stream, slice, &stages_[i], &stages_[i + 1])
                             : split.Forward(input.stream, slice, &stages_[i], &stages_[i + 1]));
  }
  return OkStatus();
}

Status Dlrm::Backward(const Input& input, const Slice& slice, const GradientBuffers& gradients) {
  for (size_t i = stages_.size(); i-- > 0;) {
    stages_[i].Backward(input.stream, input.parameters, batch_, slice, gradients);
    if (i == 0) break;
    WEIR_RETURN_IF_ERROR(
        splits_[i - 1].Backward(input.stream, slice, &stages_[i], &stages_[i - 1]));
  }
  return OkStatus();
}

std::vector<SplitCounts> Dlrm::TakeSplitCounts() {
  std::vector<SplitCounts> counts;
  counts.reserve(splits_.size());
  for (SplitCrossing& split : splits_) counts.push_back(split.TakeCounts());
  return counts;
}

void Dlrm::ZeroGradients(device::Stream& stream, const GradientBuffers& gradients) {
  stream.Zero(gradients.rows);
  stream.Zero(gradients.row_squares);
  for (const TensorSpec& tensor : layout_->tensors()) {
    const auto count = static_cast<size_t>(tensor.element_count());
    stream.Zero(device::Span<float>(gradients.dense + tensor.offset, count));
  }
  TellWhole(stages_, stream, gradients.listener);
}

}  // namespace weir::model
