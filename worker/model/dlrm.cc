#include "worker/model/dlrm.h"

#include <cmath>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "worker/model/finite.h"

namespace weir::model {
namespace {

kernels::ConstVectorView Labels(const data::Batch& batch) {
  return {batch.labels.data(), batch.row_count};
}

}  // namespace

Dlrm::Dlrm(const ModelLayout& layout, const kernels::KernelTable& kernels, int64_t max_rows)
    : layout_(&layout),
      kernels_(&kernels),
      max_rows_(max_rows),
      bottom_(layout, layout.bottom_weights(), LastActivation::kRelu, kernels, max_rows),
      interaction_(std::ssize(layout.tables()), layout.embedding_dimension(), kernels, max_rows),
      top_(layout, layout.top_weights(), LastActivation::kNone, kernels, max_rows),
      logits_(static_cast<size_t>(max_rows)),
      logit_gradients_(static_cast<size_t>(max_rows)) {}

std::span<const float> Dlrm::Forward(const float* parameters, const data::Batch& batch,
                                     std::span<const float> rows) {
  CheckShapes(batch, rows.size());
  const int64_t row_count = batch.row_count;
  bottom_.Forward(parameters, DenseInput(batch), interaction_.bottom_output(row_count));
  interaction_.Forward(batch, rows);
  top_.Forward(parameters, interaction_.output(row_count), Logits(row_count));
  return {logits_.data(), static_cast<size_t>(row_count)};
}

LossResult Dlrm::Loss(const data::Batch& batch, int64_t mean_rows) {
  const double sum = kernels_->logloss({logits_.data(), batch.row_count}, Labels(batch),
                                       {logit_gradients_.data(), batch.row_count});
  if (mean_rows != batch.row_count) {
    const auto weight =
        static_cast<float>(static_cast<double>(batch.row_count) / static_cast<double>(mean_rows));
    for (int32_t s = 0; s < batch.row_count; ++s) logit_gradients_.data()[s] *= weight;
  }
  return {sum, batch.row_count};
}

void Dlrm::Backward(const float* parameters, const data::Batch& batch, float* gradients,
                    std::span<float> row_gradients) {
  CheckShapes(batch, row_gradients.size());
  const int64_t row_count = batch.row_count;
  top_.Backward(parameters, interaction_.output(row_count), Logits(row_count),
                kernels::Dense(logit_gradients_.data(), row_count, 1), gradients,
                interaction_.output_gradient(row_count));
  interaction_.Backward(batch, row_gradients);
  bottom_.Backward(parameters, DenseInput(batch), interaction_.bottom_output(row_count),
                   interaction_.bottom_gradient(row_count), gradients, kernels::MatrixView{});
}

void Dlrm::Score(const float* parameters, const data::Batch& batch, std::span<const float> rows,
                 std::span<float> probabilities) {
  CHECK_EQ(std::ssize(probabilities), batch.row_count);
  Forward(parameters, batch, rows);
  kernels_->sigmoid({logits_.data(), batch.row_count}, {probabilities.data(), batch.row_count});
}

Status Dlrm::CheckFinite(const LossResult& loss, const float* parameters, const data::Batch& batch,
                         std::span<const float> rows) {
  if (std::isfinite(loss.logloss_sum)) return OkStatus();
  return Internal(StrCat("the loss is not finite; the first place that is not: ",
                         FirstNonFinite(parameters, batch, rows),
                         ". Training has diverged: try a smaller learning rate"));
}

std::string Dlrm::FirstNonFinite(const float* parameters, const data::Batch& batch,
                                 std::span<const float> rows) {
  if (!AllFinite(DenseInput(batch))) return "the dense features";
  const int64_t row_count = batch.row_count;
  std::string name = bottom_.FirstNonFinite(parameters, interaction_.bottom_output(row_count));
  if (name.empty()) name = FirstNonFiniteTable(batch, rows);
  if (name.empty() && !AllFinite(interaction_.output(row_count))) {
    name = "the output of the interaction";
  }
  if (name.empty()) name = top_.FirstNonFinite(parameters, Logits(row_count));
  if (name.empty() && !AllFinite(batch.labels.data(), row_count)) name = "the labels";
  // The replica may have been overwritten since the loss was computed.
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
  CHECK_LE(batch.row_count, max_rows_);
  CHECK_EQ(batch.labels.size(), row_count);
  CHECK_EQ(batch.dense.size(), row_count * static_cast<size_t>(layout_->dense_feature_count()));
  CHECK_EQ(batch.tables.size(), layout_->tables().size());
  size_t unique_count = 0;
  for (const data::TableIds& ids : batch.tables) {
    CHECK_EQ(ids.positions.size(), row_count);
    unique_count += ids.unique.size();
  }
  CHECK_EQ(row_element_count, unique_count * static_cast<size_t>(layout_->embedding_dimension()));
}

kernels::ConstMatrixView Dlrm::DenseInput(const data::Batch& batch) const {
  return kernels::Dense(batch.dense.data(), batch.row_count, layout_->dense_feature_count());
}

}  // namespace weir::model
