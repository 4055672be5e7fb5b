// The entries of a card's tables (cuda_kernels.cc), here of that for the network, whose contracts
// stand in common/kernels/kernel_table.h; others are in table_entries.h. Each checks shapes, which
// would be our mistake, launches nothing where there is nothing to do or the stream has failed, and
// keeps a launch's error in the stream by the entry's name.
//
// Thread rule: any thread, each with its own stream. Nobody but the files of this folder includes
// this one.
#pragma once

#include <utility>

#include "common/base/check.h"
#include "common/kernels/kernel_table.h"
#include "gpu/device/cuda_stream.h"
#include "gpu/kernels/products.h"

namespace weir::gpu::entries {

using device::Pointer;
using device::Stream;
using kernels::ConstDeviceMatrix;
using kernels::ConstDeviceVector;
using kernels::DeviceMatrix;
using kernels::DeviceVector;

// Calls enqueue(handle) unless the stream has failed.
template <typename Enqueue>
void Do(Stream& stream, const char* name, const Enqueue& enqueue) {
  auto& own = static_cast<CudaStream&>(stream);
  if (!own.has_failed()) own.Keep(enqueue(own.handle()), name);
}

// The same with scratch memory of so many bytes.
template <typename Enqueue>
void DoWithScratch(Stream& stream, const char* name, size_t byte_count, const Enqueue& enqueue) {
  auto& own = static_cast<CudaStream&>(stream);
  void* const scratch = own.Scratch(byte_count);
  if (scratch != nullptr) own.Keep(enqueue(scratch, own.handle()), name);
}

// Of what is not turned.
inline RawMatrix<float> Raw(const DeviceMatrix& view) {
  CHECK(!view.is_turned);
  return {view.data.address(), view.row_count, view.column_count, view.stride};
}
inline RawMatrix<const float> Raw(const ConstDeviceMatrix& view) {
  CHECK(!view.is_turned);
  return {view.data.address(), view.row_count, view.column_count, view.stride};
}

// A view's memory, row-major; of what is turned that is its transpose.
template <typename View>
auto MemoryOf(View view) {
  if (view.is_turned) std::swap(view.row_count, view.column_count);
  view.is_turned = false;
  return Raw(view);
}

template <typename Matrix>
bool IsEmpty(const Matrix& matrix) {
  return matrix.row_count == 0 || matrix.column_count == 0;
}

template <Factors factors>
void LinearForward(Stream& stream, const ConstDeviceMatrix& x, const ConstDeviceMatrix& weight,
                   const ConstDeviceVector& bias, kernels::Activation activation,
                   const DeviceMatrix& y);
template <Factors factors>
void LinearBackwardData(Stream& stream, const ConstDeviceMatrix& dy,
                        const ConstDeviceMatrix& weight, const ConstDeviceMatrix& relu_output,
                        const DeviceMatrix& dx);
template <Factors factors>
void LinearBackwardWeight(Stream& stream, const ConstDeviceMatrix& dy, const ConstDeviceMatrix& x,
                          bool accumulate, const DeviceMatrix& dw,
                          const DeviceVector& bias_gradient);
template <Factors factors>
void LinearBackwardSquares(Stream& stream, const ConstDeviceMatrix& dy, const ConstDeviceMatrix& x,
                           float keep, const DeviceMatrix& sums);
void BiasBackwardSquares(Stream& stream, const ConstDeviceMatrix& dy, float keep,
                         const DeviceVector& sums);
void Transpose(Stream& stream, const ConstDeviceMatrix& from, const DeviceMatrix& to);
void ReluBackward(Stream& stream, const ConstDeviceMatrix& output, const DeviceMatrix& gradient);
void SigmoidForward(Stream& stream, const DeviceMatrix& y);
void SigmoidBackward(Stream& stream, const ConstDeviceMatrix& y, const DeviceMatrix& gradient);
void PoolTables(Stream& stream, const ConstDeviceMatrix& rows, const kernels::TablesView& tables,
                const DeviceMatrix& vectors);
void ScatterTables(Stream& stream, const ConstDeviceMatrix& vector_gradients,
                   const kernels::TablesView& tables, const DeviceMatrix& row_gradients,
                   const DeviceVector& row_squares);
void InteractionForward(Stream& stream, const ConstDeviceMatrix& vectors, int64_t dimension,
                        kernels::Pairs pairs, const DeviceMatrix& output);
void InteractionBackward(Stream& stream, const ConstDeviceMatrix& vectors, int64_t dimension,
                         kernels::Pairs pairs, const ConstDeviceMatrix& output_gradient,
                         const DeviceMatrix& vector_gradients);
void Sigmoid(Stream& stream, const ConstDeviceVector& logits, const DeviceVector& probabilities);
void Loss(Stream& stream, const kernels::Loss& loss, const ConstDeviceVector& logits,
          const ConstDeviceVector& labels, int64_t mean_rows, const DeviceVector& logit_gradients,
          Pointer<double> sum);
void ClipNorm(Stream& stream, double limit, const DeviceVector& gradients,
              const DeviceVector& squares, Pointer<float> factor);
void AddSquares(Stream& stream, const ConstDeviceVector& squares, Pointer<const float> factor,
                float decay, const DeviceVector& sums);
void WriteValues(Stream& stream, const ConstDeviceVector& values, Pointer<const uint32_t> indexes,
                 const DeviceVector& to);
void NoteNotFinite(Stream& stream, const ConstDeviceVector& values, Pointer<double> sum);
void MarkNonzero(Stream& stream, const ConstDeviceVector& values, Pointer<uint8_t> marks);

}  // namespace weir::gpu::entries
