// A thread an element: of a row, neighbours in a row beside each other, so that a warp reads and
// writes whole lines.
//
// Floor, for n elements and a rule of m moments: update_dense (12 + 8 m) n bytes; update_rows the
// same and 5 a row; read_rows and write_rows 8 n.
#include "gpu/kernels/updates.h"

#include "common/base/random.h"
#include "gpu/kernels/each_element.h"

namespace weir::gpu {
namespace {

using kernels::UpdateStep;

__global__ void InitializeRowsKernel(RawStoredRows rows, int64_t begin, int64_t count, uint64_t key,
                                     double bound, float state) {
  ForEachOf(count * rows.dimension, [&](int64_t i) {
    const int64_t id = i / rows.dimension, k = i % rows.dimension;
    const uint64_t of_row = Mix64(key ^ static_cast<uint64_t>(id));
    const double unit = UnitFromHash(Mix64(of_row ^ Mix64(static_cast<uint64_t>(k))));
    rows.values[begin * rows.dimension + i] = static_cast<float>(bound * (2.0 * unit - 1.0));
  });
  ForEachOf(count * rows.state_width,
            [&](int64_t i) { rows.state[begin * rows.state_width + i] = state; });
}

__global__ void ReadRowsKernel(RawStoredRows rows, RawRowNumbers numbers, float* to) {
  ForEachOf(numbers.count * rows.dimension, [&](int64_t i) {
    const int64_t row = numbers.numbers[i / rows.dimension];
    to[i] = rows.values[row * rows.dimension + i % rows.dimension];
  });
}

__global__ void WriteRowsKernel(const float* from, RawRowNumbers numbers, int64_t width,
                                float* to) {
  ForEachOf(numbers.count * width, [&](int64_t i) {
    const uint32_t row = numbers.numbers[i / width];
    if (row != UINT32_MAX) to[int64_t{row} * width + i % width] = from[i];
  });
}

__global__ void CopyRowsKernel(const float* from, RawRowNumbers numbers, int64_t width,
                               const uint32_t* to_numbers, float* to) {
  ForEachOf(numbers.count * width, [&](int64_t i) {
    const int64_t row = numbers.numbers[i / width], to_row = to_numbers[i / width];
    to[to_row * width + i % width] = from[row * width + i % width];
  });
}

// An element's moments: the first at `at`, the second `stride` behind it.
struct Moments {
  float* all;
  int64_t at, stride;
};

template <typename Step>
__device__ void TakeStep(const Step& step, float gradient, float* value, const Moments& moments) {
  float* const first = moments.all + moments.at;
  step.Take(gradient, *value, first, first + moments.stride);
}

__device__ void TakeAnyStep(const UpdateStep& step, float gradient, float* value,
                            const Moments& moments) {
  switch (step.rule) {
    case UpdateStep::Rule::kSgd:
      return step.sgd.Take(gradient, *value, nullptr, nullptr);
    case UpdateStep::Rule::kAdagrad:
      return TakeStep(step.adagrad, gradient, value, moments);
    case UpdateStep::Rule::kMomentum:
      return TakeStep(step.momentum, gradient, value, moments);
    case UpdateStep::Rule::kAdam:
      return TakeStep(step.adam, gradient, value, moments);
    case UpdateStep::Rule::kRowwiseAdagrad:
      return;  // of rows alone
  }
}

__global__ void UpdateDenseKernel(UpdateStep step, const float* gradients, int64_t count,
                                  float* values, float* moments) {
  ForEachOf(count, [&](int64_t i) {
    const float gradient = step.penalty.AddTo(gradients[i], values[i]);
    TakeAnyStep(step, gradient, values + i, {moments, i, count});
  });
}

__global__ void UpdateRowsKernel(UpdateStep step, RawStoredRows rows, RawRowNumbers numbers,
                                 const float* gradients) {
  const int64_t dimension = rows.dimension;
  ForEachOf(numbers.count * dimension, [&](int64_t i) {
    const int64_t row = numbers.numbers[i / dimension], k = i % dimension;
    if (k == 0) rows.is_trained[row] = 1;
    float* const value = rows.values + row * dimension + k;
    TakeAnyStep(step, gradients[i] + step.penalty.with_gradient * *value, value,
                {rows.state, row * rows.state_width + k, dimension});
  });
}

// Of a warp's lanes together: the sum of squares of what a row's rule sees.
__device__ float SquareSum(const float* gradient, const float* values, float penalty,
                           int64_t dimension) {
  constexpr unsigned kAll = 0xffffffffu;
  float sum = 0.0f;
  for (int64_t k = threadIdx.x % 32; k < dimension; k += 32) {
    const float whole = gradient[k] + penalty * values[k];
    sum += whole * whole;
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(kAll, sum, distance);
  }
  return sum;
}

// A warp a row: its sum of squares is known before any of its elements moves.
__global__ void UpdateRowwiseKernel(kernels::RowwiseAdagradStep step, float penalty,
                                    RawStoredRows rows, RawRowNumbers numbers,
                                    const float* gradients) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = kElementThreads / 32;
  for (int64_t i = int64_t{blockIdx.x} * warps + warp; i < numbers.count;
       i += int64_t{gridDim.x} * warps) {
    const int64_t row = numbers.numbers[i];
    const float* const gradient = gradients + i * rows.dimension;
    float* const values = rows.values + row * rows.dimension;
    const float sum = SquareSum(gradient, values, penalty, rows.dimension);
    const float of_row = rows.state[row] + sum / static_cast<float>(rows.dimension);
    __syncwarp();  // all have read what one writes
    if (lane == 0) {
      rows.state[row] = of_row;
      rows.is_trained[row] = 1;
    }
    const float divisor = kernels::AdagradDivisor(of_row, step.epsilon);
    for (int64_t k = lane; k < rows.dimension; k += 32) {
      values[k] -= step.rate * (gradient[k] + penalty * values[k]) / divisor;
    }
  }
}

}  // namespace

cudaError_t InitializeRows(const RawStoredRows& rows, int64_t begin, int64_t count, uint64_t key,
                           double bound, float state, cudaStream_t stream) {
  return Launch(InitializeRowsKernel, GridFor(count * rows.dimension), kElementThreads, 0, stream,
                rows, begin, count, key, bound, state);
}

cudaError_t ReadRows(const RawStoredRows& rows, const RawRowNumbers& numbers, float* to,
                     cudaStream_t stream) {
  return Launch(ReadRowsKernel, GridFor(numbers.count * rows.dimension), kElementThreads, 0, stream,
                rows, numbers, to);
}

cudaError_t UpdateRows(const UpdateStep& step, const RawStoredRows& rows,
                       const RawRowNumbers& numbers, const float* gradients, cudaStream_t stream) {
  if (step.rule == UpdateStep::Rule::kRowwiseAdagrad) {
    return Launch(UpdateRowwiseKernel, GridFor(numbers.count * 32), kElementThreads, 0, stream,
                  step.rowwise_adagrad, step.penalty.with_gradient, rows, numbers, gradients);
  }
  return Launch(UpdateRowsKernel, GridFor(numbers.count * rows.dimension), kElementThreads, 0,
                stream, step, rows, numbers, gradients);
}

cudaError_t UpdateDense(const UpdateStep& step, const float* gradients, int64_t count,
                        float* values, float* moments, cudaStream_t stream) {
  return Launch(UpdateDenseKernel, GridFor(count), kElementThreads, 0, stream, step, gradients,
                count, values, moments);
}

cudaError_t CopyRows(const float* from, const RawRowNumbers& numbers, int64_t width,
                     const uint32_t* to_numbers, float* to, cudaStream_t stream) {
  return Launch(CopyRowsKernel, GridFor(numbers.count * width), kElementThreads, 0, stream, from,
                numbers, width, to_numbers, to);
}

cudaError_t WriteRows(const float* from, const RawRowNumbers& numbers, int64_t width, float* to,
                      cudaStream_t stream) {
  return Launch(WriteRowsKernel, GridFor(numbers.count * width), kElementThreads, 0, stream, from,
                numbers, width, to);
}

}  // namespace weir::gpu
