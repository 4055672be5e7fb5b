#include "common/base/check.h"
#include "gpu/device/entries.h"
#include "gpu/kernels/activations.h"
#include "gpu/kernels/interaction.h"
#include "gpu/kernels/loss.h"
#include "gpu/kernels/tables.h"

namespace weir::gpu::entries {

void Transpose(Stream& stream, const ConstDeviceMatrix& from, const DeviceMatrix& to) {
  CHECK_EQ(from.row_count, to.column_count);
  CHECK_EQ(from.column_count, to.row_count);
  if (IsEmpty(to)) return;
  Do(stream, "transpose", [&](cudaStream_t in) { return gpu::Transpose(Raw(from), Raw(to), in); });
}

void ReluBackward(Stream& stream, const ConstDeviceMatrix& output, const DeviceMatrix& gradient) {
  CHECK_EQ(output.row_count, gradient.row_count);
  CHECK_EQ(output.column_count, gradient.column_count);
  if (IsEmpty(gradient)) return;
  Do(stream, "relu_backward",
     [&](cudaStream_t to) { return gpu::ReluBackward(Raw(output), Raw(gradient), to); });
}

void SigmoidForward(Stream& stream, const DeviceMatrix& y) {
  if (IsEmpty(y)) return;
  Do(stream, "sigmoid_forward",
     [&](cudaStream_t to) { return gpu::SigmoidForward(MemoryOf(y), to); });
}

void SigmoidBackward(Stream& stream, const ConstDeviceMatrix& y, const DeviceMatrix& gradient) {
  CHECK_EQ(y.row_count, gradient.row_count);
  CHECK_EQ(y.column_count, gradient.column_count);
  CHECK_EQ(y.is_turned, gradient.is_turned);
  if (IsEmpty(gradient)) return;
  Do(stream, "sigmoid_backward",
     [&](cudaStream_t to) { return gpu::SigmoidBackward(MemoryOf(y), MemoryOf(gradient), to); });
}

namespace {

RawTables RawOf(const kernels::TablesView& tables) {
  return {tables.tables.address(), tables.table_count, tables.first_sample};
}

void CheckInteraction(const ConstDeviceMatrix& vectors, int64_t dimension, kernels::Pairs pairs,
                      const ConstDeviceMatrix& output) {
  CHECK_GT(dimension, 0);
  CHECK_EQ(vectors.row_count % dimension, 0);
  const int64_t count = vectors.row_count / dimension;
  CHECK_GE(count, 1);
  const int64_t self = pairs == kernels::Pairs::kWithSelf ? count : 0;
  CHECK_EQ(output.row_count, dimension + count * (count - 1) / 2 + self);
  CHECK_EQ(output.column_count, vectors.column_count);
}

}  // namespace

void PoolTables(Stream& stream, const ConstDeviceMatrix& rows, const kernels::TablesView& tables,
                const DeviceMatrix& vectors) {
  CHECK_EQ(vectors.row_count, tables.table_count * rows.column_count);
  if (IsEmpty(vectors)) return;
  Do(stream, "pool_tables",
     [&](cudaStream_t to) { return gpu::PoolTables(Raw(rows), RawOf(tables), Raw(vectors), to); });
}

void ScatterTables(Stream& stream, const ConstDeviceMatrix& vector_gradients,
                   const kernels::TablesView& tables, const DeviceMatrix& row_gradients,
                   const DeviceVector& row_squares) {
  CHECK_EQ(vector_gradients.row_count, tables.table_count * row_gradients.column_count);
  if (IsEmpty(vector_gradients)) return;
  float* const squares = row_squares.count == 0 ? nullptr : row_squares.data.address();
  Do(stream, "scatter_tables", [&](cudaStream_t to) {
    return gpu::ScatterTables(Raw(vector_gradients), RawOf(tables), Raw(row_gradients), squares,
                              to);
  });
}

void InteractionForward(Stream& stream, const ConstDeviceMatrix& vectors, int64_t dimension,
                        kernels::Pairs pairs, const DeviceMatrix& output) {
  CheckInteraction(vectors, dimension, pairs, output);
  if (IsEmpty(output)) return;
  Do(stream, "interaction_forward", [&](cudaStream_t to) {
    return gpu::InteractionForward(Raw(vectors), dimension, pairs, Raw(output), to);
  });
}

void InteractionBackward(Stream& stream, const ConstDeviceMatrix& vectors, int64_t dimension,
                         kernels::Pairs pairs, const ConstDeviceMatrix& output_gradient,
                         const DeviceMatrix& vector_gradients) {
  CheckInteraction(vectors, dimension, pairs, output_gradient);
  CHECK_EQ(vectors.row_count, vector_gradients.row_count);
  CHECK_EQ(vectors.column_count, vector_gradients.column_count);
  if (IsEmpty(vector_gradients)) return;
  Do(stream, "interaction_backward", [&](cudaStream_t to) {
    return gpu::InteractionBackward(Raw(vectors), dimension, pairs, Raw(output_gradient),
                                    Raw(vector_gradients), to);
  });
}

void Sigmoid(Stream& stream, const ConstDeviceVector& logits, const DeviceVector& probabilities) {
  CHECK_EQ(logits.count, probabilities.count);
  if (logits.count == 0) return;
  Do(stream, "sigmoid", [&](cudaStream_t to) {
    return gpu::Sigmoid(logits.data.address(), logits.count, probabilities.data.address(), to);
  });
}

void Loss(Stream& stream, const kernels::Loss& loss, const ConstDeviceVector& logits,
          const ConstDeviceVector& labels, int64_t mean_rows, const DeviceVector& logit_gradients,
          Pointer<double> sum) {
  CHECK_EQ(logits.count, labels.count);
  CHECK_EQ(logits.count, logit_gradients.count);
  if (logits.count == 0) return stream.Zero(device::Span<double>(sum, 1));
  const LossArguments arguments{
      loss,      logits.data.address(),         labels.data.address(), logits.count,
      mean_rows, logit_gradients.data.address()};
  DoWithScratch(stream, "loss", LossScratchBytes(logits.count),
                [&](void* scratch, cudaStream_t to) {
                  return gpu::Loss(arguments, sum.address(), scratch, to);
                });
}

}  // namespace weir::gpu::entries
