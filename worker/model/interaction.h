// Where the dense and the categorical half of the model meet: gathers each sample's embedding rows
// beside the bottom MLP's output and takes all pairwise dot products (Naumov et al. 2019).
//
// A sample's vectors lie side by side, vector 0 the bottom output and vector t + 1 the row of table
// t, so the bottom MLP writes straight into them and nothing is concatenated.
//
// Place in the life of a batch: forward and backward, between the bottom and the top MLP.
// Thread rule: thread-compatible; one per Hogwild thread. Owns the vectors, the output and the
// gradients of both; allocates at construction only.
#pragma once

#include <cstdint>
#include <span>

#include "common/kernels/kernel_table.h"
#include "common/tensor/aligned_buffer.h"
#include "worker/data/batch.h"

namespace weir::model {

// Rows of a batch that are computed together.
struct Slice {
  int64_t begin = 0;
  int64_t row_count = 0;
};

class Interaction {
 public:
  // table_count may be 0: the output is then the bottom output alone.
  Interaction(int64_t table_count, int64_t dimension, const kernels::KernelTable& kernels,
              int64_t max_rows);

  // [rows, dimension]: what the bottom MLP writes before Forward, and the gradient that it finds
  // after Backward.
  kernels::MatrixView bottom_output(int64_t row_count) { return Vector(vectors_, 0, row_count); }
  kernels::MatrixView bottom_gradient(int64_t row_count) {
    return Vector(vector_gradients_, 0, row_count);
  }

  // [rows, InteractionWidth]: what Forward gives, and the gradient that Backward takes.
  kernels::MatrixView output(int64_t row_count) {
    return {output_.data(), row_count, output_width_, kernels::PaddedStride(output_width_)};
  }
  kernels::MatrixView output_gradient(int64_t row_count) {
    return {output_gradient_.data(), row_count, output_width_,
            kernels::PaddedStride(output_width_)};
  }

  // For the batch's rows of the slice. rows: the unique rows of the batch, table after table,
  // [sum of unique, dimension].
  void Forward(const data::Batch& batch, const Slice& slice, std::span<const float> rows);

  // row_gradients: shaped like rows; the slice's gradients are added.
  void Backward(const data::Batch& batch, const Slice& slice, std::span<float> row_gradients);

 private:
  kernels::MatrixView Vector(tensor::AlignedBuffer& vectors, int64_t index, int64_t row_count) {
    return {vectors.data() + index * dimension_, row_count, dimension_, vectors_width_};
  }

  const kernels::KernelTable* kernels_;
  int64_t dimension_;
  int64_t vectors_width_;
  int64_t output_width_;
  tensor::AlignedBuffer vectors_;           // [max_rows, vectors_width_]
  tensor::AlignedBuffer vector_gradients_;  // the same shape
  tensor::AlignedBuffer output_;            // [max_rows, PaddedStride(output_width_)]
  tensor::AlignedBuffer output_gradient_;   // the same shape
};

}  // namespace weir::model
