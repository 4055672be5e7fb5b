// How cuBLASLt multiplies matrices of a shape: its descriptors of them, and the algorithm that its
// heuristic chose. Matrices are column-major, as the library has them.
//
// Place in the life of a batch: made in the first step with a shape, used in all that follow.
// Thread rule: one thread at a time.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "gpu/device/cublas_lt_functions.h"
#include "gpu/kernels/products.h"

namespace weir::gpu {

// Element (r, c) is at r + c stride.
struct PlanMatrix {
  int64_t rows, columns, stride;
  uint32_t alignment;  // of its address, in bytes; at most kMostAlignment counts
  bool is_turned;      // it is its transpose that is multiplied

  static constexpr uint32_t kMostAlignment = 256;
  auto operator<=>(const PlanMatrix&) const = default;
};

// What becomes of a product on the way out.
struct PlanEpilogue {
  cublasLtEpilogue_t kind = CUBLASLT_EPILOGUE_DEFAULT;
  uint32_t vector_alignment = 0, signs_alignment = 0;  // bytes
  int64_t signs_stride = 0;                            // bits; 0: there are none

  auto operator<=>(const PlanEpilogue&) const = default;
};

// d = a b, or d += a b. Factors of kBf16 are bfloat16 in memory, all others floats.
struct PlanKey {
  Factors factors;
  PlanMatrix a, b, d;
  PlanEpilogue epilogue = {};

  auto operator<=>(const PlanKey&) const = default;
};

struct PlanAddresses {
  const void* a;
  const void* b;
  float* d;
  // Of the epilogue: a bias, or where the bias's gradient goes; a ReLU's signs.
  const void* vector = nullptr;
  const void* signs = nullptr;
};

class ProductPlan {
 public:
  // functions: outlive the plan.
  explicit ProductPlan(const CublasLtFunctions& functions) : functions_(functions) {}
  ProductPlan(const ProductPlan&) = delete;
  ProductPlan& operator=(const ProductPlan&) = delete;
  ~ProductPlan();

  // Describes the matrices and chooses an algorithm, once. Of a shape that the library does not
  // take, the plan is not usable, and that is no failure.
  cublasStatus_t Make(cublasLtHandle_t handle, const PlanKey& key, const PlanAddresses& at,
                      size_t workspace_bytes);
  bool is_usable() const { return is_usable_; }
  // The library does not take it after all, as Enqueue says: from then on it is not usable.
  bool Refuses(cublasStatus_t status);

  // Addresses are aligned as the key says. workspace: of as many bytes as Make was told.
  cublasStatus_t Enqueue(cublasLtHandle_t handle, const PlanAddresses& at, bool adds,
                         void* workspace, cudaStream_t stream) const;

 private:
  cublasStatus_t Describe(const PlanKey& key);
  cublasStatus_t DescribeEpilogue(const PlanEpilogue& epilogue);
  // Of the epilogue. They are read when a product is enqueued, and their alignment before.
  cublasStatus_t Point(const PlanAddresses& at) const;
  cublasStatus_t Choose(cublasLtHandle_t handle, const PlanKey& key,
                        cublasLtMatmulPreference_t preference, size_t workspace_bytes);

  const CublasLtFunctions& functions_;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_ = {};
  PlanEpilogue epilogue_;
  size_t workspace_bytes_ = 0;
  bool is_usable_ = false;
};

}  // namespace weir::gpu
