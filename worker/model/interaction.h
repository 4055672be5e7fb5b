// Where the dense and the categorical half of the model meet: gathers each sample's embedding rows,
// summed where a table has several, beside the bottom MLP's output, and takes their dot products
// (Naumov et al. 2019) or passes them on as they are.
//
// It has features by samples, as the MLPs have: the vectors lie below each other, the bottom
// output, if there is one, above the tables'.
//
// Place in the life of a batch: forward and backward, between the bottom and the top MLP.
// Thread rule: thread-compatible; one per Hogwild thread. Owns the vectors, the output and the
// gradients of both; allocates at construction only.
#pragma once

#include <cstdint>

#include "common/device/buffers.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "worker/model/device_batch.h"
#include "worker/model/slice.h"

namespace weir::model {

class Interaction {
 public:
  // The layout has at least one vector. max_samples: the largest slice.
  Interaction(const ModelLayout& layout, const kernels::Compute& compute, int64_t max_samples);

  // [dimension, samples]: what the bottom MLP writes before Forward, and the gradient that it finds
  // after Backward.
  kernels::DeviceMatrix bottom_output(const Slice& slice) {
    return SliceOf(vectors_, dimension_, slice);
  }
  kernels::DeviceMatrix bottom_gradient(const Slice& slice) {
    return SliceOf(vector_gradients_, dimension_, slice);
  }

  // [interaction_width, samples]: what Forward gives, and the gradient that Backward takes. With
  // CAT these are the vectors themselves, the bottom output first: who changes one changes the
  // other.
  kernels::DeviceMatrix output(const Slice& slice) {
    return SliceOf(passes_on() ? vectors_ : output_, output_width_, slice);
  }
  kernels::DeviceMatrix output_gradient(const Slice& slice) {
    return SliceOf(passes_on() ? vector_gradients_ : output_gradient_, output_width_, slice);
  }

  // For the batch's rows of the slice. rows: the unique rows of the batch, table after table,
  // [sum of unique, dimension].
  void Forward(device::Stream& stream, const DeviceBatch& batch, const Slice& slice,
               device::Span<const float> rows);

  // row_gradients: shaped like rows; the slice's gradients are added. row_squares: one for each
  // row, or none; to it is added the squared norm of what each sample gives to the row (Tsuzuku et
  // al. 2018, section 4.3: of a sample that has the row several times, the square of the sum).
  void Backward(device::Stream& stream, const DeviceBatch& batch, const Slice& slice,
                device::Span<float> row_gradients, device::Span<float> row_squares);

 private:
  // Whether the vectors themselves are the output.
  bool passes_on() const { return kind_ == v1::ModelConfig::CAT; }

  kernels::DeviceMatrix Vectors(const device::Buffer<float>& vectors, const Slice& slice) const {
    return SliceOf(vectors, vectors_width_, slice);
  }
  // Those of the tables, [tables * dimension, samples].
  kernels::DeviceMatrix OfTables(const device::Buffer<float>& vectors, const Slice& slice) const;

  const kernels::DeviceKernels* kernels_;
  v1::ModelConfig::Interaction kind_;
  int64_t first_table_;  // vectors before the tables': 0 or 1
  int64_t dimension_;
  int64_t vectors_width_;
  int64_t output_width_;
  device::Buffer<float> vectors_, vector_gradients_;  // [vectors_width_, samples]
  device::Buffer<float> output_, output_gradient_;  // [output_width_, samples], if they are others
};

}  // namespace weir::model
