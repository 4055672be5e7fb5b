#include "worker/model/dlrm.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "worker/model/finite.h"

namespace weir::model {
namespace {

kernels::ConstVectorView Labels(const data::Batch& batch, const Slice& slice) {
  return {batch.labels.data() + slice.begin, slice.row_count};
}

kernels::Loss LossOf(const v1::LossConfig& config) {
  kernels::Loss loss;
  if (config.has_mse()) loss.kind = kernels::Loss::Kind::kSquare;
  if (config.has_weighted_bce()) {
    loss.positive_weight = config.weighted_bce().positive_weight();
    loss.negative_weight = config.weighted_bce().negative_weight();
  }
  return loss;
}

Slice SliceAt(const data::Batch& batch, int64_t begin) {
  return {begin, std::min(Dlrm::kSliceRows, batch.row_count - begin)};
}

}  // namespace

Dlrm::Dlrm(const ModelLayout& layout, const kernels::KernelTable& kernels,
           const std::vector<bool>& squared)
    : layout_(&layout),
      kernels_(&kernels),
      loss_(LossOf(layout.model().loss())),
      interaction_(layout, kernels, kSliceRows),
      top_(layout, layout.top_weights(), layout.top_activations(), kernels, kSliceRows, squared),
      dense_input_(
          static_cast<size_t>(layout.dense_feature_count() * kernels::PaddedStride(kSliceRows))),
      logits_(static_cast<size_t>(kernels::PaddedStride(kSliceRows))),
      logit_gradients_(logits_.size()) {
  if (!layout.has_bottom()) return;
  bottom_.emplace(layout, layout.bottom_weights(), layout.bottom_activations(), kernels, kSliceRows,
                  squared);
}

Result<double> Dlrm::Train(const float* parameters, const data::Batch& batch,
                           std::span<const float> rows, int64_t mean_rows, float* gradients,
                           std::span<float> row_gradients, float* squares,
                           std::span<float> row_squares) {
  CheckShapes(batch, rows.size());
  CHECK_EQ(rows.size(), row_gradients.size());
  std::fill(row_gradients.begin(), row_gradients.end(), 0.0f);
  std::fill(row_squares.begin(), row_squares.end(), 0.0f);
  if (batch.row_count == 0) ZeroTensors(gradients);
  if (batch.row_count == 0 && squares != nullptr) ZeroTensors(squares);
  double sum = 0;
  for (int64_t begin = 0; begin < batch.row_count; begin += kSliceRows) {
    const Slice slice = SliceAt(batch, begin);
    Forward(parameters, batch, slice, rows);
    sum += Loss(batch, slice, mean_rows);
    if (!std::isfinite(sum)) return Diverged(parameters, batch, slice, rows);
    Backward(parameters, batch, slice, gradients, row_gradients, squares, row_squares);
  }
  return sum;
}

void Dlrm::Score(const float* parameters, const data::Batch& batch, std::span<const float> rows,
                 std::span<float> probabilities) {
  CheckShapes(batch, rows.size());
  CHECK_EQ(std::ssize(probabilities), batch.row_count);
  for (int64_t begin = 0; begin < batch.row_count; begin += kSliceRows) {
    const Slice slice = SliceAt(batch, begin);
    Forward(parameters, batch, slice, rows);
    kernels_->sigmoid({Logits(slice).data, slice.row_count},
                      {probabilities.data() + slice.begin, slice.row_count});
  }
}

void Dlrm::Forward(const float* parameters, const data::Batch& batch, const Slice& slice,
                   std::span<const float> rows) {
  if (bottom_) {
    kernels_->transpose(DenseRows(batch, slice), DenseInput(slice));
    bottom_->Forward(parameters, slice, DenseInput(slice), interaction_.bottom_output(slice));
  }
  interaction_.Forward(batch, slice, rows);
  top_.Forward(parameters, slice, interaction_.output(slice), Logits(slice));
}

double Dlrm::Loss(const data::Batch& batch, const Slice& slice, int64_t mean_rows) {
  const kernels::VectorView gradients{LogitGradients(slice).data, slice.row_count};
  const double sum =
      kernels_->loss(loss_, {Logits(slice).data, slice.row_count}, Labels(batch, slice), gradients);
  if (mean_rows != slice.row_count) {  // what the kernel takes the mean over
    const auto weight =
        static_cast<float>(static_cast<double>(slice.row_count) / static_cast<double>(mean_rows));
    for (int64_t s = 0; s < slice.row_count; ++s) gradients.data[s] *= weight;
  }
  return sum;
}

void Dlrm::Backward(const float* parameters, const data::Batch& batch, const Slice& slice,
                    float* gradients, std::span<float> row_gradients, float* squares,
                    std::span<float> row_squares) {
  const bool accumulate = slice.begin > 0;
  top_.Backward(parameters, slice, interaction_.output(slice), Logits(slice), LogitGradients(slice),
                interaction_.output_gradient(slice), accumulate, gradients, squares);
  interaction_.Backward(batch, slice, row_gradients, row_squares);
  if (!bottom_) return;
  bottom_->Backward(parameters, slice, DenseInput(slice), interaction_.bottom_output(slice),
                    interaction_.bottom_gradient(slice), kernels::MatrixView{}, accumulate,
                    gradients, squares);
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
                         ". Training has diverged: try a smaller learning rate"));
}

std::string Dlrm::FirstNonFinite(const float* parameters, const data::Batch& batch,
                                 const Slice& slice, std::span<const float> rows) {
  if (!AllFinite(DenseRows(batch, slice))) return "the dense features";
  std::string name;
  if (bottom_) {
    name = bottom_->FirstNonFinite(parameters, slice, interaction_.bottom_output(slice));
  }
  if (name.empty()) name = FirstNonFiniteTable(batch, rows);
  if (name.empty() && !AllFinite(interaction_.output(slice))) {
    name = "the output of the interaction";
  }
  if (name.empty()) name = top_.FirstNonFinite(parameters, slice, Logits(slice));
  if (name.empty() && !AllFinite(Labels(batch, slice).data, slice.row_count)) name = "the labels";
  // The replica may have been overwritten since it was loaded.
  return name.empty() ? "none any more" : name;
}

std::string Dlrm::FirstNonFiniteTable(const data::Batch& batch, std::span<const float> rows) const {
  const auto dimension = static_cast<size_t>(layout_->embedding_dimension());
  for (size_t t = 0; t < batch.tables.size(); ++t) {
    const size_t element_count = batch.tables[t].unique.size() * dimension;
    if (!AllFinite(rows.data(), static_cast<int64_t>(element_count))) {
      return StrCat("table/", layout_->tables()[t].name);
    }
    rows = rows.subspan(element_count);
  }
  return "";
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

kernels::ConstMatrixView Dlrm::DenseRows(const data::Batch& batch, const Slice& slice) const {
  const int64_t count = layout_->dense_feature_count();
  return kernels::Dense(batch.dense.data() + slice.begin * count, slice.row_count, count);
}

}  // namespace weir::model
