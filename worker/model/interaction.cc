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
      bottom_output_(MakeEdge(dimension_, max_samples)),
      bottom_gradient_(MakeEdge(dimension_, max_samples)),
      output_(MakeEdge(layout.interaction_width(), max_samples)),
      output_gradient_(MakeEdge(output_.width, max_samples)),
      vectors_(static_cast<size_t>(max_samples * vectors_width_)),
      vector_gradients_(vectors_.size()),
      pairs_(static_cast<size_t>(max_samples * output_.width)) {
  CHECK_GE(layout.vector_count(), 1);
}

Interaction::Edge Interaction::MakeEdge(int64_t width, int64_t max_samples) {
  return {width,
          tensor::AlignedBuffer(static_cast<size_t>(width * kernels::PaddedStride(max_samples)))};
}

void Interaction::Forward(const data::Batch& batch, const Slice& slice,
                          std::span<const float> rows) {
  const int64_t count = slice.row_count;
  if (first_table_ > 0) kernels_->transpose(bottom_output(slice), Vector(vectors_, 0, count));
  const float* table_rows = rows.data();
  for (size_t t = 0; t < batch.tables.size(); ++t) {
    Gather(batch.tables[t], slice, table_rows,
           Vector(vectors_, static_cast<int64_t>(t) + first_table_, count));
    table_rows += std::ssize(batch.tables[t].unique) * dimension_;
  }
  const kernels::MatrixView vectors = kernels::Dense(vectors_.data(), count, vectors_width_);
  if (kind_ == v1::ModelConfig::CAT) return kernels_->transpose(vectors, output(slice));
  const kernels::MatrixView pairs = kernels::Dense(pairs_.data(), count, output_.width);
  kernels_->interaction_forward(vectors, dimension_, PairsOf(kind_), pairs);
  kernels_->transpose(pairs, output(slice));
}

void Interaction::Backward(const data::Batch& batch, const Slice& slice,
                           std::span<float> row_gradients, std::span<float> row_squares) {
  const int64_t count = slice.row_count;
  const kernels::MatrixView gradients =
      kernels::Dense(vector_gradients_.data(), count, vectors_width_);
  if (kind_ == v1::ModelConfig::CAT) {
    kernels_->transpose(output_gradient(slice), gradients);
  } else {
    const kernels::MatrixView pairs = kernels::Dense(pairs_.data(), count, output_.width);
    kernels_->transpose(output_gradient(slice), pairs);
    kernels_->interaction_backward(kernels::Dense(vectors_.data(), count, vectors_width_),
                                   dimension_, PairsOf(kind_), pairs, gradients);
  }
  if (first_table_ > 0) {
    kernels_->transpose(Vector(vector_gradients_, 0, count), bottom_gradient(slice));
  }
  size_t row = 0;
  for (size_t t = 0; t < batch.tables.size(); ++t) {
    const data::TableIds& ids = batch.tables[t];
    const kernels::MatrixView vectors =
        Vector(vector_gradients_, static_cast<int64_t>(t) + first_table_, count);
    Scatter(ids, slice, vectors, row_gradients.data() + row * static_cast<size_t>(dimension_));
    if (!row_squares.empty()) ScatterSquares(ids, slice, vectors, row_squares.data() + row);
    row += ids.unique.size();
  }
}

void Interaction::Gather(const data::TableIds& ids, const Slice& slice, const float* rows,
                         const kernels::MatrixView& vectors) const {
  const kernels::ConstMatrixView table = kernels::Dense(rows, std::ssize(ids.unique), dimension_);
  if (ids.ends.empty()) {
    kernels_->gather_rows(table, Positions(ids, slice), vectors);
  } else {
    kernels_->pool_rows(table, Lists(ids, slice), vectors);
  }
}

void Interaction::Scatter(const data::TableIds& ids, const Slice& slice,
                          const kernels::MatrixView& vector_gradients, float* row_gradients) const {
  const kernels::MatrixView table =
      kernels::Dense(row_gradients, std::ssize(ids.unique), dimension_);
  if (ids.ends.empty()) {
    kernels_->scatter_add_rows(vector_gradients, Positions(ids, slice), table);
  } else {
    kernels_->scatter_add_lists(vector_gradients, Lists(ids, slice), table);
  }
}

void Interaction::ScatterSquares(const data::TableIds& ids, const Slice& slice,
                                 const kernels::MatrixView& vector_gradients,
                                 float* row_squares) const {
  const kernels::VectorView squares{row_squares, std::ssize(ids.unique)};
  if (ids.ends.empty()) {
    kernels_->scatter_add_squares(vector_gradients, Positions(ids, slice), squares);
  } else {
    kernels_->scatter_add_list_squares(vector_gradients, Lists(ids, slice), squares);
  }
}

}  // namespace weir::model
