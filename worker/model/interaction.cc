#include "worker/model/interaction.h"

#include "common/base/check.h"

namespace weir::model {
namespace {

kernels::Pairs PairsOf(v1::ModelConfig::Interaction kind) {
  return kind == v1::ModelConfig::DOT_WITH_SELF ? kernels::Pairs::kWithSelf
                                                : kernels::Pairs::kDistinct;
}

}  // namespace

Interaction::Interaction(const ModelLayout& layout, const kernels::Compute& compute,
                         int64_t max_samples)
    : kernels_(compute.kernels),
      kind_(layout.model().interaction()),
      first_table_(layout.has_bottom() ? 1 : 0),
      dimension_(layout.embedding_dimension()),
      vectors_width_(layout.vector_count() * dimension_),
      output_width_(layout.interaction_width()),
      vectors_(MakeActivations(*compute.device, vectors_width_, max_samples)),
      vector_gradients_(MakeActivations(*compute.device, vectors_width_, max_samples)) {
  CHECK_GE(layout.vector_count(), 1);
  if (passes_on()) {
    CHECK_EQ(output_width_, vectors_width_);
    return;
  }
  output_ = MakeActivations(*compute.device, output_width_, max_samples);
  output_gradient_ = MakeActivations(*compute.device, output_width_, max_samples);
}

kernels::DeviceMatrix Interaction::OfTables(const device::Buffer<float>& vectors,
                                            const Slice& slice) const {
  kernels::DeviceMatrix view = Vectors(vectors, slice);
  view.data = view.row(first_table_ * dimension_);
  view.row_count -= first_table_ * dimension_;
  return view;
}

void Interaction::Forward(device::Stream& stream, const DeviceBatch& batch, const Slice& slice,
                          device::Span<const float> rows) {
  const auto row_count = static_cast<int64_t>(rows.size) / dimension_;
  kernels_->pool_tables(stream, kernels::Dense(rows.data, row_count, dimension_),
                        batch.Tables(slice), OfTables(vectors_, slice));
  if (passes_on()) return;
  kernels_->interaction_forward(stream, Vectors(vectors_, slice), dimension_, PairsOf(kind_),
                                output(slice));
}

void Interaction::Backward(device::Stream& stream, const DeviceBatch& batch, const Slice& slice,
                           device::Span<float> row_gradients, device::Span<float> row_squares) {
  if (!passes_on()) {
    kernels_->interaction_backward(stream, Vectors(vectors_, slice), dimension_, PairsOf(kind_),
                                   output_gradient(slice), Vectors(vector_gradients_, slice));
  }
  const auto row_count = static_cast<int64_t>(row_gradients.size) / dimension_;
  kernels_->scatter_tables(stream, OfTables(vector_gradients_, slice), batch.Tables(slice),
                           kernels::Dense(row_gradients.data, row_count, dimension_),
                           {row_squares.data, static_cast<int64_t>(row_squares.size)});
}

}  // namespace weir::model
