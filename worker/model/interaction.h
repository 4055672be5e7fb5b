// Where the dense and the categorical half of the model meet: gathers each sample's embedding rows,
// summed where a table has several, beside the bottom MLP's output, and takes their dot products
// (Naumov et al. 2019) or passes them on as they are.
//
// It has features by samples, as the MLPs have: the vectors lie below each other, the bottom
// output, if there is one, above the tables'. Rows of embeddings are turned when they come and go.
//
// Place in the life of a batch: forward and backward, between the bottom and the top MLP.
// Thread rule: thread-compatible; one per Hogwild thread. Owns the vectors, the output and the
// gradients of both; allocates at construction only.
#pragma once

#include <cstdint>
#include <span>

#include "common/kernels/kernel_table.h"
#include "common/layout/model_layout.h"
#include "common/tensor/aligned_buffer.h"
#include "worker/data/batch.h"
#include "worker/model/slice.h"

namespace weir::model {

class Interaction {
 public:
  // The layout has at least one vector. max_samples: the largest slice.
  Interaction(const ModelLayout& layout, const kernels::KernelTable& kernels, int64_t max_samples);

  // [dimension, samples]: what the bottom MLP writes before Forward, and the gradient that it finds
  // after Backward.
  kernels::MatrixView bottom_output(const Slice& slice) {
    return SliceOf(vectors_, dimension_, slice);
  }
  kernels::MatrixView bottom_gradient(const Slice& slice) {
    return SliceOf(vector_gradients_, dimension_, slice);
  }

  // [interaction_width, samples]: what Forward gives, and the gradient that Backward takes. With
  // CAT these are the vectors themselves, the bottom output first: who changes one changes the
  // other.
  kernels::MatrixView output(const Slice& slice) {
    return SliceOf(passes_on() ? vectors_ : output_, output_width_, slice);
  }
  kernels::MatrixView output_gradient(const Slice& slice) {
    return SliceOf(passes_on() ? vector_gradients_ : output_gradient_, output_width_, slice);
  }

  // For the batch's rows of the slice. rows: the unique rows of the batch, table after table,
  // [sum of unique, dimension].
  void Forward(const data::Batch& batch, const Slice& slice, std::span<const float> rows);

  // row_gradients: shaped like rows; the slice's gradients are added. row_squares: one for each
  // row, or none; to it is added the squared norm of what each sample gives to the row (Tsuzuku et
  // al. 2018, section 4.3: of a sample that has the row several times, the square of the sum).
  void Backward(const data::Batch& batch, const Slice& slice, std::span<float> row_gradients,
                std::span<float> row_squares);

 private:
  // Whether the vectors themselves are the output.
  bool passes_on() const { return kind_ == v1::ModelConfig::CAT; }

  kernels::MatrixView Vectors(tensor::AlignedBuffer& vectors, const Slice& slice) const {
    return SliceOf(vectors, vectors_width_, slice);
  }
  // The vectors of a table, [dimension, samples].
  kernels::MatrixView OfTable(tensor::AlignedBuffer& vectors, size_t table,
                              const Slice& slice) const;

  // sample_rows: [samples, dimension].
  void Gather(const data::TableIds& ids, const Slice& slice, const float* rows,
              const kernels::MatrixView& sample_rows) const;
  void Scatter(const data::TableIds& ids, const Slice& slice,
               const kernels::ConstMatrixView& sample_gradients, float* row_gradients) const;
  void ScatterSquares(const data::TableIds& ids, const Slice& slice,
                      const kernels::ConstMatrixView& sample_gradients, float* row_squares) const;

  const kernels::KernelTable* kernels_;
  v1::ModelConfig::Interaction kind_;
  int64_t first_table_;  // vectors before the tables': 0 or 1
  int64_t dimension_;
  int64_t vectors_width_;
  int64_t output_width_;
  tensor::AlignedBuffer vectors_, vector_gradients_;  // [vectors_width_, samples]
  tensor::AlignedBuffer output_, output_gradient_;  // [output_width_, samples], if they are others
  tensor::AlignedBuffer sample_rows_;               // [samples, dimension], of one table
};

}  // namespace weir::model
