#include "gpu/device/product_plan.h"

namespace weir::gpu {
namespace {

// Calls in their order, until one fails.
template <typename... Calls>
cublasStatus_t InOrder(const Calls&... calls) {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  static_cast<void>(((status = calls(), status == CUBLAS_STATUS_SUCCESS) && ...));
  return status;
}

// The library has nothing for the shape, or for the card. An epilogue that it does not know for a
// shape may be an invalid value to it.
bool IsRefusal(cublasStatus_t status, const PlanEpilogue& epilogue) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH ||
         (status == CUBLAS_STATUS_INVALID_VALUE && epilogue.kind != CUBLASLT_EPILOGUE_DEFAULT);
}

}  // namespace

ProductPlan::~ProductPlan() {
  if (product_ != nullptr) functions_.MatmulDescDestroy(product_);
  for (cublasLtMatrixLayout_t layout : {a_, b_, d_}) {
    if (layout != nullptr) functions_.MatrixLayoutDestroy(layout);
  }
}

cublasStatus_t ProductPlan::Describe(const PlanKey& key) {
  const auto type = key.factors == Factors::kBf16 ? CUDA_R_16BF : CUDA_R_32F;
  const auto compute =
      key.factors == Factors::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const auto layout = [&](cublasLtMatrixLayout_t* to, cudaDataType_t of, const PlanMatrix& matrix) {
    return functions_.MatrixLayoutCreate(to, of, static_cast<uint64_t>(matrix.rows),
                                         static_cast<uint64_t>(matrix.columns), matrix.stride);
  };
  const auto turn = [&](cublasLtMatmulDescAttributes_t attribute, const PlanMatrix& matrix) {
    const cublasOperation_t operation = matrix.is_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    return functions_.MatmulDescSetAttribute(product_, attribute, &operation, sizeof(operation));
  };
  return InOrder([&] { return functions_.MatmulDescCreate(&product_, compute, CUDA_R_32F); },
                 [&] { return turn(CUBLASLT_MATMUL_DESC_TRANSA, key.a); },
                 [&] { return turn(CUBLASLT_MATMUL_DESC_TRANSB, key.b); },
                 [&] { return layout(&a_, type, key.a); }, [&] { return layout(&b_, type, key.b); },
                 [&] { return layout(&d_, CUDA_R_32F, key.d); },
                 [&] { return DescribeEpilogue(key.epilogue); });
}

cublasStatus_t ProductPlan::DescribeEpilogue(const PlanEpilogue& epilogue) {
  epilogue_ = epilogue;
  const auto kind = static_cast<uint32_t>(epilogue.kind);
  const cublasStatus_t status = functions_.MatmulDescSetAttribute(
      product_, CUBLASLT_MATMUL_DESC_EPILOGUE, &kind, sizeof(kind));
  if (status != CUBLAS_STATUS_SUCCESS || epilogue.signs_stride == 0) return status;
  return functions_.MatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
                                           &epilogue.signs_stride, sizeof(epilogue.signs_stride));
}

cublasStatus_t ProductPlan::Point(const PlanAddresses& at) const {
  if (epilogue_.kind == CUBLASLT_EPILOGUE_DEFAULT) return CUBLAS_STATUS_SUCCESS;
  const auto point = [&](cublasLtMatmulDescAttributes_t attribute, const void* const& to) {
    if (to == nullptr) return CUBLAS_STATUS_SUCCESS;
    return functions_.MatmulDescSetAttribute(product_, attribute, &to, sizeof(to));
  };
  return InOrder([&] { return point(CUBLASLT_MATMUL_DESC_BIAS_POINTER, at.vector); },
                 [&] { return point(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, at.signs); });
}

cublasStatus_t ProductPlan::Choose(cublasLtHandle_t handle, const PlanKey& key,
                                   cublasLtMatmulPreference_t preference, size_t workspace_bytes) {
  const uint64_t most_bytes = workspace_bytes;
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    return functions_.MatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value));
  };
  cublasLtMatmulHeuristicResult_t best = {};
  int count = 0;
  const cublasStatus_t status =
      InOrder([&] { return prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_bytes); },
              // Not told, the library takes every address for a multiple of 256.
              [&] { return prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.a.alignment); },
              [&] { return prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.b.alignment); },
              [&] { return prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.d.alignment); },
              [&] { return prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.d.alignment); },
              [&] {
                return functions_.MatmulAlgoGetHeuristic(handle, product_, a_, b_, d_, d_,
                                                         preference, 1, &best, &count);
              });
  if (IsRefusal(status, key.epilogue)) return CUBLAS_STATUS_SUCCESS;
  is_usable_ = status == CUBLAS_STATUS_SUCCESS && count > 0 && best.state == CUBLAS_STATUS_SUCCESS;
  algorithm_ = best.algo;
  return status;
}

cublasStatus_t ProductPlan::Make(cublasLtHandle_t handle, const PlanKey& key,
                                 const PlanAddresses& at, size_t workspace_bytes) {
  workspace_bytes_ = workspace_bytes;
  cublasLtMatmulPreference_t preference = nullptr;
  const cublasStatus_t status =
      InOrder([&] { return Describe(key); }, [&] { return Point(at); },
              [&] { return functions_.MatmulPreferenceCreate(&preference); },
              [&] { return Choose(handle, key, preference, workspace_bytes); });
  if (preference != nullptr) functions_.MatmulPreferenceDestroy(preference);
  return status;
}

bool ProductPlan::Refuses(cublasStatus_t status) {
  const bool refuses = IsRefusal(status, epilogue_);
  is_usable_ = is_usable_ && !refuses;
  return refuses;
}

cublasStatus_t ProductPlan::Enqueue(cublasLtHandle_t handle, const PlanAddresses& at, bool adds,
                                    void* workspace, cudaStream_t stream) const {
  const cublasStatus_t status = Point(at);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const float one = 1.0f, kept = adds ? 1.0f : 0.0f;
  return functions_.Matmul(handle, product_, &one, at.a, a_, at.b, b_, &kept, at.d, d_, at.d, d_,
                           &algorithm_, workspace, workspace_bytes_, stream);
}

}  // namespace weir::gpu
