// What trainers have agreed on leaves the residual, whatever it is: a thread an element.
//
// Floor, for s elements: 72 s bytes, of which 64 are an element's sector of the residual, read and
// written.
#include "gpu/kernels/layers_select.h"
#include "gpu/kernels/raw_views.h"
#include "gpu/kernels/take.h"

namespace weir::gpu {
namespace {

constexpr unsigned kThreads = 256;

// Of infinity NaN is left: it cannot be sent twice.
__global__ void __launch_bounds__(kThreads)
    TakeValuesKernel(const uint32_t* places, int64_t count, bool rounds_to_bf16, float* residual,
                     float* values) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  float* const left = residual + places[i];
  const float value = *left, sent = rounds_to_bf16 ? RoundedToSend(value) : value;
  values[i] = sent;
  *left = value - sent;
}

}  // namespace

cudaError_t TakeValues(const uint32_t* places, int64_t count, bool rounds_to_bf16, float* residual,
                       float* values, cudaStream_t stream) {
  return Launch(TakeValuesKernel, BlocksFor(count, kThreads), kThreads, 0, stream, places, count,
                rounds_to_bf16, residual, values);
}

}  // namespace weir::gpu
