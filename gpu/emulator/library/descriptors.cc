#include "gpu/emulator/library/descriptors.h"

#include <cstring>

struct cublasLtContext {};

namespace {

// A copy of an attribute, of the size that it has.
template <typename T>
cublasStatus_t CopyAttribute(const void* value, size_t size, T* to) {
  if (value == nullptr || size != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T, typename... Values>
cublasStatus_t New(T** made, Values... values) {
  *made = new T{values...};
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t Delete(const T* made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

size_t cublasLtGetVersion() { return CUBLAS_VER_MAJOR * 10000; }

const char* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "the function requires an architectural feature absent from the device";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the function failed to launch on the GPU";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the requested functionality is not supported";
  }
  return "<unknown>";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return New(handle); }

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return Delete(handle); }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
  return New(desc, compute);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t size) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return CopyAttribute(value, size, &desc->a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return CopyAttribute(value, size, &desc->b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return CopyAttribute(value, size, &desc->epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return CopyAttribute(value, size, &desc->vector);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return CopyAttribute(value, size, &desc->signs);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return CopyAttribute(value, size, &desc->signs_ld);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) { return Delete(desc); }

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t ld) {
  return New(layout, type, rows, columns, ld);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return Delete(layout); }

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return New(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t size) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    return CopyAttribute(value, size, &preference->workspace_bytes);
  }
  return CopyAttribute(
      value, size, &preference->alignments[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES]);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return Delete(preference);
}
