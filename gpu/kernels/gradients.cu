// A thread an element, but for sums, which many threads begin, in 64 bits and a fixed order, and
// one ends. Whether a gradient is clipped is known on the card alone: whoever scales reads the
// factor.
//
// Floor, for n elements: clip_norm 4 n bytes, or 12 n where it clips; add_squares 12 n;
// write_values 12 n; mark_nonzero and note_not_finite 4 n.
#include "gpu/kernels/gradients.h"

#include "gpu/kernels/block_sum.h"

namespace weir::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kSumBlocks = 256;

// Calls visit(i) for this thread's elements, of a grid that need not cover all.
template <typename Visit>
__device__ void ForEachElement(int64_t count, const Visit& visit) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) visit(i);
}

unsigned Grid(int64_t count) {
  constexpr unsigned kMost = 4096;
  const unsigned blocks = BlocksFor(count, kThreads);
  return blocks < kMost ? blocks : kMost;
}

__global__ void SquareSumKernel(const float* gradients, int64_t count, double* sums) {
  WEIR_SHARED(double, parts, [kThreads]);
  double own = 0;
  ForEachElement(count, [&](int64_t i) {
    const auto value = static_cast<double>(gradients[i]);
    own += value * value;
  });
  const double sum = BlockSum<kThreads>(own, parts);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void FactorKernel(const double* sums, double limit, float* factor) {
  double sum = 0;
  for (unsigned i = 0; i < kSumBlocks; ++i) sum += sums[i];
  const double norm = sqrt(sum);
  // NaN and infinity stay what they are, for whoever refuses them.
  const bool is_clipped = norm > limit && !isinf(norm);
  *factor = is_clipped ? static_cast<float>(limit / norm) : 1.0f;
}

__global__ void ScaleKernel(float* values, int64_t count, const float* factor, bool by_square) {
  const float f = by_square ? *factor * *factor : *factor;
  if (f == 1.0f) return;
  ForEachElement(count, [&](int64_t i) { values[i] *= f; });
}

__global__ void AddSquaresKernel(const float* squares, int64_t count, const float* factor,
                                 float decay, float* sums) {
  const float scale = *factor * *factor;
  ForEachElement(count, [&](int64_t i) { sums[i] = sums[i] * decay + squares[i] * scale; });
}

__global__ void WriteValuesKernel(const float* values, const uint32_t* indexes, int64_t count,
                                  float* to) {
  ForEachElement(count, [&](int64_t i) { to[indexes[i]] = values[i]; });
}

__global__ void NoteNotFiniteKernel(const float* values, int64_t count, double* sum) {
  ForEachElement(count, [&](int64_t i) {
    if (isinf(values[i]) || isnan(values[i])) atomicAdd(sum, nan(""));
  });
}

__global__ void MarkNonzeroKernel(const float* values, int64_t count, uint8_t* marks) {
  ForEachElement(count, [&](int64_t i) {
    if (values[i] != 0.0f) marks[i] = 1;
  });
}

}  // namespace

size_t ClipNormScratchBytes() { return kSumBlocks * sizeof(double); }

cudaError_t ClipNorm(double limit, float* gradients, int64_t count, float* squares,
                     int64_t square_count, float* factor, void* scratch, cudaStream_t stream) {
  auto* const sums = static_cast<double*>(scratch);
  cudaError_t error = Launch(SquareSumKernel, kSumBlocks, kThreads, 0, stream,
                             static_cast<const float*>(gradients), count, sums);
  if (error != cudaSuccess) return error;
  error = Launch(FactorKernel, 1, 1, 0, stream, static_cast<const double*>(sums), limit, factor);
  if (error != cudaSuccess || count == 0) return error;
  const float* const read_factor = factor;
  error =
      Launch(ScaleKernel, Grid(count), kThreads, 0, stream, gradients, count, read_factor, false);
  if (error != cudaSuccess || square_count == 0) return error;
  return Launch(ScaleKernel, Grid(square_count), kThreads, 0, stream, squares, square_count,
                read_factor, true);
}

cudaError_t AddSquares(const float* squares, int64_t count, const float* factor, float decay,
                       float* sums, cudaStream_t stream) {
  return Launch(AddSquaresKernel, Grid(count), kThreads, 0, stream, squares, count, factor, decay,
                sums);
}

cudaError_t WriteValues(const float* values, const uint32_t* indexes, int64_t count, float* to,
                        cudaStream_t stream) {
  return Launch(WriteValuesKernel, Grid(count), kThreads, 0, stream, values, indexes, count, to);
}

cudaError_t NoteNotFinite(const float* values, int64_t count, double* sum, cudaStream_t stream) {
  return Launch(NoteNotFiniteKernel, Grid(count), kThreads, 0, stream, values, count, sum);
}

cudaError_t MarkNonzero(const float* values, int64_t count, uint8_t* marks, cudaStream_t stream) {
  return Launch(MarkNonzeroKernel, Grid(count), kThreads, 0, stream, values, count, marks);
}

}  // namespace weir::gpu
