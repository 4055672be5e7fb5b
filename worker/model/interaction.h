// Where the dense and the categorical half of the model meet: gathers each sample's embedding rows,
// summed where a table has several, beside the bottom MLP's output, and takes their dot products
// (Naumov et al. 2019) or passes them on as they are.
//
// Inside, samples lie one after the other and a sample's vectors side by side, the bottom output,
// if there is one, before the tables', so that one sample's arithmetic stays in the first-level
// cache; on both sides the MLPs have features by samples, and it is turned here.
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

  // Features by samples, as the MLPs have it. [dimension, samples]: what the bottom MLP writes
  // before Forward, and the gradient that it finds after Backward.
  kernels::MatrixView bottom_output(const Slice& slice) { return Turned(bottom_output_, slice); }
  kernels::MatrixView bottom_gradient(const Slice& slice) {
    return Turned(bottom_gradient_, slice);
  }

  // [interaction_width, samples]: what Forward gives, and the gradient that Backward takes.
  kernels::MatrixView output(const Slice& slice) { return Turned(output_, slice); }
  kernels::MatrixView output_gradient(const Slice& slice) {
    return Turned(output_gradient_, slice);
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
  // Activations between the MLPs and here.
  struct Edge {
    int64_t width = 0;
    tensor::AlignedBuffer values;
  };

  static Edge MakeEdge(int64_t width, int64_t max_samples);
  static kernels::MatrixView Turned(Edge& edge, const Slice& slice) {
    return SliceOf(edge.values, edge.width, slice);
  }
  kernels::MatrixView Vector(tensor::AlignedBuffer& vectors, int64_t index, int64_t sample_count) {
    return {vectors.data() + index * dimension_, sample_count, dimension_, vectors_width_};
  }

  void Gather(const data::TableIds& ids, const Slice& slice, const float* rows,
              const kernels::MatrixView& vectors) const;
  void Scatter(const data::TableIds& ids, const Slice& slice,
               const kernels::MatrixView& vector_gradients, float* row_gradients) const;
  void ScatterSquares(const data::TableIds& ids, const Slice& slice,
                      const kernels::MatrixView& vector_gradients, float* row_squares) const;

  const kernels::KernelTable* kernels_;
  v1::ModelConfig::Interaction kind_;
  int64_t first_table_;  // vectors before the tables': 0 or 1
  int64_t dimension_;
  int64_t vectors_width_;
  Edge bottom_output_;
  Edge bottom_gradient_;
  Edge output_;
  Edge output_gradient_;
  tensor::AlignedBuffer vectors_;           // [max_samples, vectors_width_]
  tensor::AlignedBuffer vector_gradients_;  // the same shape
  tensor::AlignedBuffer pairs_;             // [max_samples, output width]: output_, or its gradient
};

}  // namespace weir::model
