// A thread an output of a sample, samples along threads, so that each warp reads and writes whole
// lines; what several products have in common comes from the caches.
//
// Floor, for n samples of f vectors of d: forward 4 n (f d + d + f (f - 1) / 2) bytes and n f^2 d
// operations; backward twice as much of either.
#include "gpu/kernels/interaction.h"

namespace weir::gpu {
namespace {

constexpr unsigned kThreads = 128;

struct Pair {
  int64_t i, j;
};

// Of the strict lower triangle, row by row, or of that with its diagonal.
__device__ Pair PairAt(int64_t index, bool with_self) {
  // The row whose first index is the last one at or below: i (i - 1) / 2, or i (i + 1) / 2.
  auto i = static_cast<int64_t>((sqrt(8.0 * static_cast<double>(index) + 1.0) - 1.0) / 2.0);
  while ((i + 1) * (i + 2) / 2 <= index) ++i;
  while (i * (i + 1) / 2 > index) --i;
  return {with_self ? i : i + 1, index - i * (i + 1) / 2};
}

__device__ int64_t IndexOf(int64_t i, int64_t j, bool with_self) {
  return (with_self ? i * (i + 1) / 2 : i * (i - 1) / 2) + j;
}

__global__ void ForwardKernel(RawMatrix<const float> vectors, int64_t dimension, bool with_self,
                              RawMatrix<float> output) {
  const int64_t sample = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (sample >= output.column_count) return;
  for (int64_t row = blockIdx.y; row < output.row_count; row += gridDim.y) {
    if (row < dimension) {
      output.at(row, sample) = vectors.at(row, sample);
      continue;
    }
    const Pair pair = PairAt(row - dimension, with_self);
    float sum = 0;
    for (int64_t d = 0; d < dimension; ++d) {
      sum +=
          vectors.at(pair.i * dimension + d, sample) * vectors.at(pair.j * dimension + d, sample);
    }
    output.at(row, sample) = sum;
  }
}

__global__ void BackwardKernel(RawMatrix<const float> vectors, int64_t dimension, bool with_self,
                               RawMatrix<const float> output_gradient,
                               RawMatrix<float> vector_gradients) {
  const int64_t sample = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (sample >= vectors.column_count) return;
  const int64_t vector_count = vectors.row_count / dimension;
  for (int64_t row = blockIdx.y; row < vectors.row_count; row += gridDim.y) {
    const int64_t i = row / dimension, d = row % dimension;
    float sum = i == 0 ? output_gradient.at(d, sample) : 0.0f;
    for (int64_t j = 0; j < vector_count; ++j) {
      if (j == i && !with_self) continue;
      const int64_t index = j < i ? IndexOf(i, j, with_self) : IndexOf(j, i, with_self);
      const float gradient = output_gradient.at(dimension + index, sample);
      const float other = vectors.at(j * dimension + d, sample);
      sum += (j == i ? 2.0f : 1.0f) * gradient * other;
    }
    vector_gradients.at(row, sample) = sum;
  }
}

dim3 GridOver(int64_t rows, int64_t samples) {
  constexpr int64_t kMost = 65535;
  return {BlocksFor(samples, kThreads), static_cast<unsigned>(rows < kMost ? rows : kMost)};
}

}  // namespace

cudaError_t InteractionForward(const RawMatrix<const float>& vectors, int64_t dimension,
                               kernels::Pairs pairs, const RawMatrix<float>& output,
                               cudaStream_t stream) {
  return Launch(ForwardKernel, GridOver(output.row_count, output.column_count), kThreads, 0, stream,
                vectors, dimension, pairs == kernels::Pairs::kWithSelf, output);
}

cudaError_t InteractionBackward(const RawMatrix<const float>& vectors, int64_t dimension,
                                kernels::Pairs pairs, const RawMatrix<const float>& output_gradient,
                                const RawMatrix<float>& vector_gradients, cudaStream_t stream) {
  return Launch(BackwardKernel, GridOver(vectors.row_count, vectors.column_count), kThreads, 0,
                stream, vectors, dimension, pairs == kernels::Pairs::kWithSelf, output_gradient,
                vector_gradients);
}

}  // namespace weir::gpu
