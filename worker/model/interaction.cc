#include "worker/model/interaction.h"

#include "common/layout/model_layout.h"

namespace weir::model {
namespace {

kernels::IndexView Positions(const data::TableIds& ids, const Slice& slice) {
  return {ids.positions.data() + slice.begin, slice.row_count};
}

}  // namespace

Interaction::Interaction(int64_t table_count, int64_t dimension,
                         const kernels::KernelTable& kernels, int64_t slice_samples,
                         int64_t block_samples)
    : kernels_(&kernels),
      dimension_(dimension),
      vectors_width_((table_count + 1) * dimension),
      bottom_output_(MakeEdge(dimension, block_samples)),
      bottom_gradient_(MakeEdge(dimension, block_samples)),
      output_(MakeEdge(InteractionWidth(table_count, dimension), block_samples)),
      output_gradient_(MakeEdge(output_.width, block_samples)),
      vectors_(static_cast<size_t>(slice_samples * vectors_width_)),
      vector_gradients_(vectors_.size()),
      pairs_(static_cast<size_t>(slice_samples * output_.width)) {}

Interaction::Edge Interaction::MakeEdge(int64_t width, int64_t block_samples) {
  return {width,
          tensor::AlignedBuffer(static_cast<size_t>(width * kernels::PaddedStride(block_samples)))};
}

void Interaction::Forward(const data::Batch& batch, const Slice& slice,
                          std::span<const float> rows) {
  const int64_t count = slice.row_count;
  kernels_->transpose(bottom_output(slice), Vector(vectors_, 0, count));
  const float* table_rows = rows.data();
  for (size_t t = 0; t < batch.tables.size(); ++t) {
    const int64_t unique_count = std::ssize(batch.tables[t].unique);
    kernels_->gather_rows(kernels::Dense(table_rows, unique_count, dimension_),
                          Positions(batch.tables[t], slice),
                          Vector(vectors_, static_cast<int64_t>(t) + 1, count));
    table_rows += unique_count * dimension_;
  }
  const kernels::MatrixView pairs = kernels::Dense(pairs_.data(), count, output_.width);
  kernels_->interaction_forward(kernels::Dense(vectors_.data(), count, vectors_width_), dimension_,
                                pairs);
  kernels_->transpose(pairs, output(slice));
}

void Interaction::Backward(const data::Batch& batch, const Slice& slice,
                           std::span<float> row_gradients) {
  const int64_t count = slice.row_count;
  const kernels::MatrixView pairs = kernels::Dense(pairs_.data(), count, output_.width);
  kernels_->transpose(output_gradient(slice), pairs);
  kernels_->interaction_backward(kernels::Dense(vectors_.data(), count, vectors_width_), dimension_,
                                 pairs,
                                 kernels::Dense(vector_gradients_.data(), count, vectors_width_));
  kernels_->transpose(Vector(vector_gradients_, 0, count), bottom_gradient(slice));
  float* table_gradients = row_gradients.data();
  for (size_t t = 0; t < batch.tables.size(); ++t) {
    const int64_t unique_count = std::ssize(batch.tables[t].unique);
    kernels_->scatter_add_rows(Vector(vector_gradients_, static_cast<int64_t>(t) + 1, count),
                               Positions(batch.tables[t], slice),
                               kernels::Dense(table_gradients, unique_count, dimension_));
    table_gradients += unique_count * dimension_;
  }
}

}  // namespace weir::model
