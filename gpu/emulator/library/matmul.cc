// The heuristic and the product of the emulated cuBLASLt. An algorithm is what it was found for:
// matmul refuses another shape, a pointer that is aligned worse, and less workspace.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "gpu/emulator/library/epilogues.h"
#include "gpu/emulator/library/problem.h"
#include "gpu/emulator/machine.h"
#include "gpu/emulator/stream_items.h"

namespace weir::gpu::emulator {
namespace {

constexpr uint64_t kWorkspaceBytes = 1 << 20;  // of an algorithm, where it may have as much
constexpr int64_t kBf16Alignment = 16;         // of rows and of pointers, in bytes

struct Algorithm {
  uint64_t problem, workspace_bytes, alignments[4];
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

uint64_t HashOf(const Problem& problem) {
  uint64_t hash = static_cast<uint64_t>(problem.desc.compute) * 4 +
                  static_cast<uint64_t>(problem.desc.a) * 2 + static_cast<uint64_t>(problem.desc.b);
  hash = hash * 1024 + problem.desc.epilogue;
  for (const WeirMatrixLayout* of : {&problem.a, &problem.b, &problem.c, &problem.d}) {
    for (const uint64_t part :
         {static_cast<uint64_t>(of->type), of->rows, of->columns, static_cast<uint64_t>(of->ld)}) {
      hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    }
  }
  return hash;
}

bool IsLayout(const WeirMatrixLayout& layout) {
  return layout.rows > 0 && layout.columns > 0 && layout.ld >= static_cast<int64_t>(layout.rows);
}

cublasStatus_t Check(const Problem& of) {
  for (const WeirMatrixLayout* layout : {&of.a, &of.b, &of.c, &of.d}) {
    if (!IsLayout(*layout)) return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool is_b_plain = of.desc.b == CUBLAS_OP_N;
  const uint64_t rows = of.desc.a == CUBLAS_OP_N ? of.a.rows : of.a.columns;
  const uint64_t columns = is_b_plain ? of.b.columns : of.b.rows;
  const uint64_t depth = is_b_plain ? of.b.rows : of.b.columns;
  if (of.depth() != depth || of.d.rows != rows || of.d.columns != columns || of.c.rows != rows ||
      of.c.columns != columns) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool are_types_known = of.a.type == of.b.type && of.c.type == CUDA_R_32F &&
                               of.d.type == CUDA_R_32F &&
                               (of.a.type == CUDA_R_32F || of.desc.compute == CUBLAS_COMPUTE_32F);
  return are_types_known ? CheckEpilogue(of.desc, of.d) : CUBLAS_STATUS_NOT_SUPPORTED;
}

// Numbers of 16 bits come by whole vectors.
bool AreVectorsAligned(const WeirMatrixLayout& layout, uint32_t alignment) {
  return layout.type != CUDA_R_16BF ||
         (layout.ld * 2 % kBf16Alignment == 0 && alignment >= kBf16Alignment);
}

// The gradient of a bias: what b adds up to.
void SumB(const Problem& of, const void* b) {
  for (uint64_t column = 0; column < of.d.columns; ++column) {
    float sum = 0;
    for (uint64_t k = 0; k < of.depth(); ++k) sum += LoadOfB(of, b, k, column);
    static_cast<float*>(of.desc.vector)[column] = sum;
  }
}

// c is read where beta is not 0, and there alone.
void Multiply(const Problem& of, float alpha, const void* a, const void* b, float beta,
              const float* c, float* d) {
  for (uint64_t column = 0; column < of.d.columns; ++column) {
    for (uint64_t row = 0; row < of.d.rows; ++row) {
      float sum = 0;
      for (uint64_t k = 0; k < of.depth(); ++k) {
        sum += LoadOfA(of, a, row, k) * LoadOfB(of, b, k, column);
      }
      const float before = beta == 0 ? 0 : beta * c[row + column * static_cast<uint64_t>(of.c.ld)];
      d[row + column * static_cast<uint64_t>(of.d.ld)] =
          Ended(of.desc, row, column, alpha * sum + before);
    }
  }
  if (of.desc.epilogue == CUBLASLT_EPILOGUE_BGRADB) SumB(of, b);
}

cublasLtMatmulHeuristicResult_t Found(const Problem& problem,
                                      const WeirMatmulPreference& preference) {
  Algorithm algorithm{HashOf(problem), std::min(preference.workspace_bytes, kWorkspaceBytes), {}};
  std::copy_n(preference.alignments, 4, algorithm.alignments);
  cublasLtMatmulHeuristicResult_t found = {};
  std::memcpy(&found.algo, &algorithm, sizeof(algorithm));
  found.workspaceSize = algorithm.workspace_bytes;
  return found;
}

bool IsGoodFor(const cublasLtMatmulAlgo_t& algo, const Problem& problem,
               const void* const pointers[4], const void* workspace, size_t workspace_bytes) {
  Algorithm algorithm;
  std::memcpy(&algorithm, &algo, sizeof(algorithm));
  for (int i = 0; i < 4; ++i) {
    if (reinterpret_cast<uintptr_t>(pointers[i]) % algorithm.alignments[i] != 0) return false;
  }
  return algorithm.problem == HashOf(problem) && workspace_bytes >= algorithm.workspace_bytes &&
         (workspace != nullptr || algorithm.workspace_bytes == 0);
}

}  // namespace

LibraryCalls& TheLibraryCalls() {
  static LibraryCalls calls;
  return calls;
}

namespace {

// Of a product that is right: whether it is enqueued.
cublasStatus_t Begin(const Problem& problem, cudaStream_t stream) {
  const bool ends = problem.desc.epilogue != CUBLASLT_EPILOGUE_DEFAULT;
  if (faults().cublas_lt == Library::kEndsNothingLate && ends) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (faults().cublas_lt == Library::kFails || !IsOfCurrentDevice(stream))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  ++TheLibraryCalls().products;
  if (ends) ++TheLibraryCalls().epilogues;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

}  // namespace weir::gpu::emulator

using weir::gpu::emulator::AreVectorsAligned;
using weir::gpu::emulator::Begin;
using weir::gpu::emulator::Check;
using weir::gpu::emulator::Enqueue;
using weir::gpu::emulator::faults;
using weir::gpu::emulator::Found;
using weir::gpu::emulator::IsGoodFor;
using weir::gpu::emulator::LastError;
using weir::gpu::emulator::Library;
using weir::gpu::emulator::Multiply;
using weir::gpu::emulator::Problem;
using weir::gpu::emulator::TheLibraryCalls;

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int asked_count,
    cublasLtMatmulHeuristicResult_t results[], int* count) {
  *count = 0;
  ++TheLibraryCalls().heuristics;
  if (asked_count < 1) return CUBLAS_STATUS_INVALID_VALUE;
  const Problem problem{*desc, *a, *b, *c, *d};
  const cublasStatus_t status = Check(problem);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (faults().cublas_lt == Library::kEndsNothing &&
      problem.desc.epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
    return problem.desc.epilogue == CUBLASLT_EPILOGUE_DRELU ? CUBLAS_STATUS_INVALID_VALUE
                                                            : CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (faults().cublas_lt == Library::kTakesNothing ||
      !AreVectorsAligned(*a, preference->alignments[0]) ||
      !AreVectorsAligned(*b, preference->alignments[1])) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  results[0] = Found(problem, *preference);
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t desc,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  const Problem problem{*desc, *a_layout, *b_layout, *c_layout, *d_layout};
  const cublasStatus_t status = Check(problem);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const void* const pointers[] = {a, b, c, d};
  if (!IsGoodFor(*algo, problem, pointers, workspace, workspace_bytes)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const cublasStatus_t begun = Begin(problem, stream);
  if (begun != CUBLAS_STATUS_SUCCESS) return begun;
  Enqueue(stream, [=, alpha = *static_cast<const float*>(alpha),
                   beta = *static_cast<const float*>(beta), to = static_cast<float*>(d)] {
    if (LastError() != cudaSuccess) return;
    Multiply(problem, alpha, a, b, beta, static_cast<const float*>(c), to);
  });
  return CUBLAS_STATUS_SUCCESS;
}
