#include "worker/model/interaction.h"

#include "common/layout/model_layout.h"

namespace weir::model {
namespace {

kernels::IndexView Positions(const data::TableIds& ids, const Slice& slice) {
  return {ids.positions.data() + slice.begin, slice.row_count};
}

size_t FloatCount(int64_t rows, int64_t stride) { return static_cast<size_t>(rows * stride); }

}  // namespace

Interaction::Interaction(int64_t table_count, int64_t dimension,
                         const kernels::KernelTable& kernels, int64_t max_rows)
    : kernels_(&kernels),
      dimension_(dimension),
      vectors_width_((table_count + 1) * dimension),
      output_width_(InteractionWidth(table_count, dimension)),
      vectors_(FloatCount(max_rows, vectors_width_)),
      vector_gradients_(FloatCount(max_rows, vectors_width_)),
      output_(FloatCount(max_rows, kernels::PaddedStride(output_width_))),
      output_gradient_(output_.size()) {}

void Interaction::Forward(const data::Batch& batch, const Slice& slice,
                          std::span<const float> rows) {
  const float* table_rows = rows.data();
  for (size_t t = 0; t < batch.tables.size(); ++t) {
    const int64_t unique_count = std::ssize(batch.tables[t].unique);
    kernels_->gather_rows(kernels::Dense(table_rows, unique_count, dimension_),
                          Positions(batch.tables[t], slice),
                          Vector(vectors_, static_cast<int64_t>(t) + 1, slice.row_count));
    table_rows += unique_count * dimension_;
  }
  kernels_->interaction_forward(kernels::Dense(vectors_.data(), slice.row_count, vectors_width_),
                                dimension_, output(slice.row_count));
}

void Interaction::Backward(const data::Batch& batch, const Slice& slice,
                           std::span<float> row_gradients) {
  kernels_->interaction_backward(
      kernels::Dense(vectors_.data(), slice.row_count, vectors_width_), dimension_,
      output_gradient(slice.row_count),
      kernels::Dense(vector_gradients_.data(), slice.row_count, vectors_width_));
  float* table_gradients = row_gradients.data();
  for (size_t t = 0; t < batch.tables.size(); ++t) {
    const int64_t unique_count = std::ssize(batch.tables[t].unique);
    kernels_->scatter_add_rows(
        Vector(vector_gradients_, static_cast<int64_t>(t) + 1, slice.row_count),
        Positions(batch.tables[t], slice),
        kernels::Dense(table_gradients, unique_count, dimension_));
    table_gradients += unique_count * dimension_;
  }
}

}  // namespace weir::model
