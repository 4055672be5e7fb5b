// A block has 32 samples of one table, and goes through the row's dimension 32 elements at a time:
// a warp adds up the rows of a sample, elements along its lanes, into a tile of shared memory, and
// the tile leaves turned, samples along lanes. Back it goes the same way, by atomic additions,
// whose order is left to chance.
//
// Floor, for n samples of t tables of rows of d: 8 n t d bytes to pool, 12 n t d to scatter (a row
// gradient is read and written where it is added to), and 4 n t of positions.
#include "gpu/kernels/tables.h"

namespace weir::gpu {
namespace {

constexpr unsigned kTile = 32, kWarps = 8;
constexpr unsigned kSquareThreads = 128;

// Where a sample's positions are in its table.
struct Range {
  uint32_t begin, end;
};

__device__ Range RangeOf(const kernels::TableView& table, int64_t sample) {
  const uint32_t* const ends = table.ends.address();
  if (ends == nullptr) return {static_cast<uint32_t>(sample), static_cast<uint32_t>(sample) + 1};
  return {sample == 0 ? 0 : ends[sample - 1], ends[sample]};
}

__device__ float WeightAt(const kernels::TableView& table, uint32_t k) {
  const float* const weights = table.weights.address();
  return weights == nullptr ? 1.0f : weights[k];
}

// One element of what a sample has of a table.
__device__ float Pooled(const kernels::TableView& table, const RawMatrix<const float>& rows,
                        int64_t sample, int64_t element) {
  const Range range = RangeOf(table, sample);
  float sum = 0;
  for (uint32_t k = range.begin; k < range.end; ++k) {
    const int64_t row = table.first_row + table.positions.address()[k];
    sum += WeightAt(table, k) * rows.at(row, element);
  }
  return sum;
}

__global__ void PoolKernel(RawMatrix<const float> rows, RawTables tables,
                           RawMatrix<float> vectors) {
  WEIR_SHARED(float, tile, [kTile][kTile + 1]);  // [sample][element]
  const kernels::TableView& table = tables.tables[blockIdx.y];
  const int64_t dimension = rows.column_count, first = int64_t{blockIdx.x} * kTile;
  for (int64_t element = 0; element < dimension; element += kTile) {
    const int64_t at = element + threadIdx.x;
    for (unsigned s = threadIdx.y; s < kTile; s += kWarps) {
      if (first + s >= vectors.column_count || at >= dimension) continue;
      tile[s][threadIdx.x] = Pooled(table, rows, tables.first_sample + first + s, at);
    }
    __syncthreads();
    for (unsigned e = threadIdx.y; e < kTile; e += kWarps) {
      const int64_t sample = first + threadIdx.x;
      if (sample < vectors.column_count && element + e < dimension) {
        vectors.at(blockIdx.y * dimension + element + e, sample) = tile[threadIdx.x][e];
      }
    }
    __syncthreads();
  }
}

__global__ void ScatterKernel(RawMatrix<const float> vector_gradients, RawTables tables,
                              RawMatrix<float> row_gradients) {
  WEIR_SHARED(float, tile, [kTile][kTile + 1]);  // [element][sample]
  const kernels::TableView& table = tables.tables[blockIdx.y];
  const int64_t dimension = row_gradients.column_count, first = int64_t{blockIdx.x} * kTile;
  for (int64_t element = 0; element < dimension; element += kTile) {
    for (unsigned e = threadIdx.y; e < kTile; e += kWarps) {
      const int64_t sample = first + threadIdx.x;
      if (sample < vector_gradients.column_count && element + e < dimension) {
        tile[e][threadIdx.x] = vector_gradients.at(blockIdx.y * dimension + element + e, sample);
      }
    }
    __syncthreads();
    const int64_t at = element + threadIdx.x;
    for (unsigned s = threadIdx.y; s < kTile; s += kWarps) {
      if (first + s >= vector_gradients.column_count || at >= dimension) continue;
      const Range range = RangeOf(table, tables.first_sample + first + s);
      for (uint32_t k = range.begin; k < range.end; ++k) {
        const int64_t row = table.first_row + table.positions.address()[k];
        atomicAdd(&row_gradients.at(row, at), WeightAt(table, k) * tile[threadIdx.x][s]);
      }
    }
    __syncthreads();
  }
}

// Whether position k's row is at no position before it.
__device__ bool IsFirst(const kernels::TableView& table, const Range& range, uint32_t k) {
  const uint32_t* const positions = table.positions.address();
  for (uint32_t other = range.begin; other < k; ++other) {
    if (positions[other] == positions[k]) return false;
  }
  return true;
}

// The sum of the weights of position k's row, from k on.
__device__ float WeightOfRow(const kernels::TableView& table, const Range& range, uint32_t k) {
  const uint32_t* const positions = table.positions.address();
  float sum = 0;
  for (uint32_t other = k; other < range.end; ++other) {
    if (positions[other] == positions[k]) sum += WeightAt(table, other);
  }
  return sum;
}

// A thread a sample of a table.
__global__ void ScatterSquaresKernel(RawMatrix<const float> vector_gradients, RawTables tables,
                                     int64_t dimension, float* row_squares) {
  const int64_t sample = int64_t{blockIdx.x} * kSquareThreads + threadIdx.x;
  if (sample >= vector_gradients.column_count) return;
  float square = 0;
  for (int64_t d = 0; d < dimension; ++d) {
    const float value = vector_gradients.at(blockIdx.y * dimension + d, sample);
    square += value * value;
  }
  const kernels::TableView& table = tables.tables[blockIdx.y];
  const Range range = RangeOf(table, tables.first_sample + sample);
  for (uint32_t k = range.begin; k < range.end; ++k) {
    if (!IsFirst(table, range, k)) continue;
    const float weight = WeightOfRow(table, range, k);
    const int64_t row = table.first_row + table.positions.address()[k];
    atomicAdd(row_squares + row, weight * weight * square);
  }
}

}  // namespace

cudaError_t PoolTables(const RawMatrix<const float>& rows, const RawTables& tables,
                       const RawMatrix<float>& vectors, cudaStream_t stream) {
  const dim3 grid(BlocksFor(vectors.column_count, kTile),
                  static_cast<unsigned>(tables.table_count));
  return Launch(PoolKernel, grid, dim3(kTile, kWarps), 0, stream, rows, tables, vectors);
}

cudaError_t ScatterTables(const RawMatrix<const float>& vector_gradients, const RawTables& tables,
                          const RawMatrix<float>& row_gradients, float* row_squares,
                          cudaStream_t stream) {
  const auto table_count = static_cast<unsigned>(tables.table_count);
  const dim3 grid(BlocksFor(vector_gradients.column_count, kTile), table_count);
  const cudaError_t error = Launch(ScatterKernel, grid, dim3(kTile, kWarps), 0, stream,
                                   vector_gradients, tables, row_gradients);
  if (error != cudaSuccess || row_squares == nullptr) return error;
  const dim3 square_grid(BlocksFor(vector_gradients.column_count, kSquareThreads), table_count);
  return Launch(ScatterSquaresKernel, square_grid, kSquareThreads, 0, stream, vector_gradients,
                tables, row_gradients.column_count, row_squares);
}

}  // namespace weir::gpu
