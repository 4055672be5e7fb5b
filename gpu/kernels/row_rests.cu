// A thread an element, as updates.cu has it.
//
// Floor, for n elements of rows and a rule of m moments: rest_rows (8 + 8 m) n bytes and 24 a row,
// read_rested_rows (8 + 4 m) n and as many.
#include "gpu/kernels/row_rests.h"

#include "gpu/kernels/each_element.h"

namespace weir::gpu {
namespace {

using kernels::UpdateStep;

// Where a rule has no such moments the pointers are not looked at.
__global__ void RestRowsKernel(UpdateStep step, RawStoredRows rows, RawRowNumbers numbers,
                               const kernels::Rest* rests) {
  const int64_t dimension = rows.dimension;
  ForEachOf(numbers.count * dimension, [&](int64_t i) {
    const int64_t row = numbers.numbers[i / dimension], k = i % dimension;
    float* const first = rows.state + row * rows.state_width + k;
    rests[i / dimension].Catch(step, rows.values[row * dimension + k], first, first + dimension);
  });
}

__global__ void ReadRestedRowsKernel(UpdateStep step, RawStoredRows rows, RawRowNumbers numbers,
                                     const kernels::Rest* rests, float* to) {
  const int64_t dimension = rows.dimension;
  const bool has_second = step.rule == UpdateStep::Rule::kAdam;
  const bool has_first = has_second || step.rule == UpdateStep::Rule::kMomentum;
  ForEachOf(numbers.count * dimension, [&](int64_t i) {
    const int64_t row = numbers.numbers[i / dimension], k = i % dimension;
    const float* const moments = rows.state + row * rows.state_width + k;
    float value = rows.values[row * dimension + k];
    float first = has_first ? moments[0] : 0, second = has_second ? moments[dimension] : 0;
    rests[i / dimension].Catch(step, value, &first, &second);
    to[i] = value;
  });
}

}  // namespace

cudaError_t RestRows(const UpdateStep& step, const RawStoredRows& rows,
                     const RawRowNumbers& numbers, const kernels::Rest* rests,
                     cudaStream_t stream) {
  return Launch(RestRowsKernel, GridFor(numbers.count * rows.dimension), kElementThreads, 0, stream,
                step, rows, numbers, rests);
}

cudaError_t ReadRestedRows(const UpdateStep& step, const RawStoredRows& rows,
                           const RawRowNumbers& numbers, const kernels::Rest* rests, float* to,
                           cudaStream_t stream) {
  return Launch(ReadRestedRowsKernel, GridFor(numbers.count * rows.dimension), kElementThreads, 0,
                stream, step, rows, numbers, rests, to);
}

}  // namespace weir::gpu
