#include "worker/model/dlrm.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "worker/model/finite.h"

namespace weir::model {
namespace {

std::vector<Stage> MakeStages(const ModelLayout& layout, const kernels::KernelTable& kernels,
                              const compress::SquareSumsOfTensors& squares) {
  std::vector<Stage> stages;
  stages.reserve(layout.stages().size());
  for (const StageSpec& spec : layout.stages()) {
    stages.emplace_back(layout, spec, kernels, kSliceRows, squares);
  }
  return stages;
}

}  // namespace

Dlrm::Dlrm(const ModelLayout& layout, const kernels::KernelTable& kernels,
           const compress::SquareSumsOfTensors& squares, uint64_t split_seed)
    : layout_(&layout),
      kernels_(&kernels),
      loss_(layout.model().loss(), kernels),
      stages_(MakeStages(layout, kernels, squares)) {
  for (uint32_t i = 0; i + 1 < stages_.size(); ++i)
    splits_.emplace_back(layout, i, split_seed, kernels);
}

Result<double> Dlrm::Train(const float* parameters, const data::Batch& batch,
                           std::span<const float> rows, int64_t mean_rows,
                           const GradientBuffers& gradients) {
  CheckShapes(batch, rows.size());
  CHECK_EQ(rows.size(), gradients.rows.size());
  std::ranges::fill(gradients.rows, 0.0f);
  std::ranges::fill(gradients.row_squares, 0.0f);
  if (batch.row_count == 0) ZeroTensors(gradients.dense);
  for (SplitCrossing& split : splits_) split.NextBatch();
  double sum = 0;
  for (int64_t begin = 0; begin < batch.row_count; begin += kSliceRows) {
    const Slice slice = SliceAt(batch.row_count, begin);
    Forward(parameters, batch, slice, rows, Crossing::kAsTrained);
    sum += loss_.Compute(batch, slice, mean_rows, &stages_.back());
    if (!std::isfinite(sum)) return Diverged(parameters, batch, slice, rows);
    Backward(parameters, batch, slice, gradients);
  }
  return sum;
}

void Dlrm::Score(const float* parameters, const data::Batch& batch, std::span<const float> rows,
                 std::span<float> probabilities, Crossing crossing) {
  CheckShapes(batch, rows.size());
  CHECK_EQ(std::ssize(probabilities), batch.row_count);
  for (SplitCrossing& split : splits_) split.NextBatch();
  for (int64_t begin = 0; begin < batch.row_count; begin += kSliceRows) {
    const Slice slice = SliceAt(batch.row_count, begin);
    Forward(parameters, batch, slice, rows, crossing);
    kernels_->sigmoid({Logits(slice).data, slice.row_count},
                      {probabilities.data() + slice.begin, slice.row_count});
  }
}

void Dlrm::Forward(const float* parameters, const data::Batch& batch, const Slice& slice,
                   std::span<const float> rows, Crossing crossing) {
  for (size_t i = 0; i < stages_.size(); ++i) {
    stages_[i].Forward(parameters, batch, slice, rows);
    if (i == splits_.size()) return;
    if (crossing == Crossing::kWhole ||
        (crossing == Crossing::kOfSampleAlone && !splits_[i].is_of_sample_alone())) {
      splits_[i].ForwardWhole(slice, &stages_[i], &stages_[i + 1]);
    } else {
      splits_[i].Forward(slice, &stages_[i], &stages_[i + 1]);
    }
  }
}

void Dlrm::Backward(const float* parameters, const data::Batch& batch, const Slice& slice,
                    const GradientBuffers& gradients) {
  for (size_t i = stages_.size(); i-- > 0;) {
    stages_[i].Backward(parameters, batch, slice, gradients);
    if (i > 0) splits_[i - 1].Backward(slice, &stages_[i], &stages_[i - 1]);
  }
}

std::vector<SplitCounts> Dlrm::TakeSplitCounts() {
  std::vector<SplitCounts> counts;
  counts.reserve(splits_.size());
  for (SplitCrossing& split : splits_) counts.push_back(split.TakeCounts());
  return counts;
}

void Dlrm::ZeroTensors(float* flat) {
  for (const TensorSpec& tensor : layout_->tensors()) {
    std::fill_n(flat + tensor.offset, tensor.element_count(), 0.0f);
  }
}

Status Dlrm::Diverged(const float* parameters, const data::Batch& batch, const Slice& slice,
                      std::span<const float> rows) {
  return Internal(StrCat("the loss is not finite; the first place that is not: ",
                         FirstNonFinite(parameters, batch, slice, rows),
                         ". Training has diverged: try a smaller learning rate, and a transform "
                         "for columns of large values"));
}

std::string Dlrm::FirstNonFinite(const float* parameters, const data::Batch& batch,
                                 const Slice& slice, std::span<const float> rows) {
  for (Stage& stage : stages_) {
    std::string name = stage.FirstNonFinite(parameters, batch, slice, rows);
    if (!name.empty()) return name;
  }
  if (!AllFinite(Labels(batch, slice).data, slice.row_count)) return "the labels";
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
