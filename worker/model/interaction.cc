#include "worker/model/interaction.h"

#include "common/base/check.h"

namespace weir::model {
namespace {

kernels::IndexView Positions(const data::TableIds& ids, const Slice& slice) {
  return {ids.positions.data() + slice.begin, slice.row_count};
}

kernels::ListsView Lists(const data::TableIds& ids, const Slice& slice) {
  return {.indexes = ids.positions.data(),
          .weights = ids.weights.empty() ? nullptr : ids.weights.data(),
          .ends = ids.ends.data() + slice.begin,
          .begin = slice.begin == 0 ? 0 : ids.ends[static_cast<size_t>(slice.begin) - 1],
          .count = slice.row_count};
}

kernels::Pairs PairsOf(v1::ModelConfig::Interaction kind) {
  return kind == v1::ModelConfig::DOT_WITH_SELF ? kernels::Pairs::kWithSelf
                                                : kernels::Pairs::kDistinct;
}

}  // namespace

Interaction::Interaction(const ModelLayout& layout, const kernels::KernelTable& kernels,
                         int64_t max_samples)
    : kernels_(&kernels),
      kind_(layout.model().interaction()),
      first_table_(layout.has_bottom() ? 1 : 0),
      dimension_(layout.embedding_dimension()),
      vectors_width_(layout.vector_count() * dimension_),
      output_width_(layout.interaction_width()),
      vectors_(static_cast<size_t>(vectors_width_ * kernels::PaddedStride(max_samples))),
      vector_gradients_(vectors_.size()),
      sample_rows_(static_cast<size_t>(max_samples * dimension_)) {
  CHECK_GE(layout.vector_count(), 1);
  if (passes_on()) {
    CHECK_EQ(output_width_, vectors_width_);
    return;
  }
  output_ = tensor::AlignedBuffer(
      static_cast<size_t>(output_width_ * kernels::PaddedStride(max_samples)));
  output_gradient_ = tensor::AlignedBuffer(output_.size());
}

kernels::MatrixView Interaction::OfTable(tensor::AlignedBuffer& vectors, size_t table,
                                         const Slice& slice) const {
  kernels::MatrixView view = Vectors(vectors, slice);
  view.data = view.row((static_cast<int64_t>(table) + first_table_) * dimension_);
  view.row_count = dimension_;
  return view;
}

void Interaction::Forward(const data::Batch& batch, const Slice& slice,
                          std::span<const float> rows) {
  const kernels::MatrixView sample_rows =
      kernels::Dense(sample_rows_.data(), slice.row_count, dimension_);
  const float* table_rows = rows.data();
  for (size_t t = 0; t < batch.tables.size(); ++t) {
    Gather(batch.tables[t], slice, table_rows, sample_rows);
    kernels_->transpose(sample_rows, OfTable(vectors_, t, slice));
    table_rows += std::ssize(batch.tables[t].unique) * dimension_;
  }
  if (passes_on()) return;
  kernels_->interaction_forward(Vectors(vectors_, slice), dimension_, PairsOf(kind_),
                                output(slice));
}

void Interaction::Backward(const data::Batch& batch, const Slice& slice,
                           std::span<float> row_gradients, std::span<float> row_squares) {
  if (!passes_on()) {
    kernels_->interaction_backward(Vectors(vectors_, slice), dimension_, PairsOf(kind_),
                                   output_gradient(slice), Vectors(vector_gradients_, slice));
  }
  const kernels::MatrixView sample_gradients =
      kernels::Dense(sample_rows_.data(), slice.row_count, dimension_);
  size_t row = 0;
  for (size_t t = 0; t < batch.tables.size(); ++t) {
    const data::TableIds& ids = batch.tables[t];
    kernels_->transpose(OfTable(vector_gradients_, t, slice), sample_gradients);
    Scatter(ids, slice, sample_gradients,
            row_gradients.data() + row * static_cast<size_t>(dimension_));
    if (!row_squares.empty()) {
      ScatterSquares(ids, slice, sample_gradients, row_squares.data() + row);
    }
    row += ids.unique.size();
  }
}

void Interaction::Gather(const data::TableIds& ids, const Slice& slice, const float* rows,
                         const kernels::MatrixView& sample_rows) const {
  const kernels::ConstMatrixView table = kernels::Dense(rows, std::ssize(ids.unique), dimension_);
  if (ids.ends.empty()) {
    kernels_->gather_rows(table, Positions(ids, slice), sample_rows);
  } else {
    kernels_->pool_rows(table, Lists(ids, slice), sample_rows);
  }
}

void Interaction::Scatter(const data::TableIds& ids, const Slice& slice,
                          const kernels::ConstMatrixView& sample_gradients,
                          float* row_gradients) const {
  const kernels::MatrixView table =
      kernels::Dense(row_gradients, std::ssize(ids.unique), dimension_);
  if (ids.ends.empty()) {
    kernels_->scatter_add_rows(sample_gradients, Positions(ids, slice), table);
  } else {
    kernels_->scatter_add_lists(sample_gradients, Lists(ids, slice), table);
  }
}

void Interaction::ScatterSquares(const data::TableIds& ids, const Slice& slice,
                                 const kernels::ConstMatrixView& sample_gradients,
                                 float* row_squares) const {
  const kernels::VectorView squares{row_squares, std::ssize(ids.unique)};
  if (ids.ends.empty()) {
    kernels_->scatter_add_squares(sample_gradients, Positions(ids, slice), squares);
  } else {
    kernels_->scatter_add_list_squares(sample_gradients, Lists(ids, slice), squares);
  }
}

}  // namespace weir::model
