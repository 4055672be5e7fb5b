#include "worker/model/dlrm.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "worker/model/finite.h"

namespace weir::model {
namespace {

std::vector<Stage> MakeStages(const ModelLayout& layout, const kernels::Compute& compute,
                              const compress::SquareSumsOfTensors& squares) {
  std::vector<Stage> stages;
  stages.reserve(layout.stages().size());
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
  const Input input{stream, parameters, rows};
  Begin(input, batch);
  CHECK_EQ(rows.size, gradients.rows.size);
  stream.Zero(gradients.rows);
  stream.Zero(gradients.row_squares);
  if (batch.row_count == 0) ZeroTensors(stream, gradients.dense);
  double sum = 0;
  for (int64_t begin = 0; begin < batch.row_count; begin += slice_rows_) {
    const Slice slice = SliceAt(batch.row_count, begin, slice_rows_);
    WEIR_RETURN_IF_ERROR(Forward(input, slice, Crossing::kAsTrained));
    loss_.Compute(stream, batch_, slice, mean_rows, &stages_.back());
    // Enqueued before the loss is looked at: a card need not wait for that.
    WEIR_RETURN_IF_ERROR(Backward(input, slice, gradients));
    WEIR_ASSIGN_OR_RETURN(const double of_slice, loss_.AwaitSum(stream));
    sum += of_slice;
    if (!std::isfinite(sum)) return Diverged(input, slice);
  }
  return sum;
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
  CheckShapes(batch, input.rows.size);
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

void Dlrm::ZeroTensors(device::Stream& stream, device::Pointer<float> flat) {
  for (const TensorSpec& tensor : layout_->tensors()) {
    const auto count = static_cast<size_t>(tensor.element_count());
    stream.Zero(device::Span<float>(flat + tensor.offset, count));
  }
}

Status Dlrm::Diverged(const Input& input, const Slice& slice) {
  return Internal(
      StrCat("the loss is not finite; the first place that is not: ", FirstNonFinite(input, slice),
             ". Training has diverged: try a smaller learning rate, and a transform "
             "for columns of large values"));
}

std::string Dlrm::FirstNonFinite(const Input& input, const Slice& slice) {
  for (Stage& stage : stages_) {
    std::string name =
        stage.FirstNonFinite(input.stream, input.parameters, batch_, slice, input.rows);
    if (!name.empty()) return name;
  }
  const kernels::ConstDeviceVector labels = batch_.Labels(slice);
  if (!AllFinite(input.stream, {labels.data, static_cast<size_t>(labels.count)})) {
    return "the labels";
  }
  // The replica may have been overwritten since it was loaded.
  return "none any more";
}

void Dlrm::CheckShapes(const data::Batch& batch, size_t row_element_count) const {
  const auto row_count = static_cast<size_t>(batch.row_count);
  CHECK_EQ(batch.labels.size(), row_count);
  CHECK_EQ(batch.dense.size(), row_count * static_cast<size_t>(layout_->dense_feature_count()));
  CHECK_EQ(batch.tables.size(), layout_->tables().size());
  size_t unique_count = 0;
  for (const data::TableIds& ids : batch.tables) {
    CHECK_EQ((ids.ends.empty() ? ids.positions : ids.ends).size(), row_count);
    unique_count += ids.unique.size();
  }
  CHECK_EQ(row_element_count, unique_count * static_cast<size_t>(layout_->embedding_dimension()));
}

}  // namespace weir::model
