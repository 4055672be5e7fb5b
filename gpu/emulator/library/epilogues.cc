#include "gpu/emulator/library/epilogues.h"

namespace weir::gpu::emulator {
namespace {

constexpr int64_t kSignsAtOnce = 128;
constexpr uintptr_t kSignsAlignment = 16;

bool HasSigns(uint32_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_RELU_AUX_BIAS || epilogue == CUBLASLT_EPILOGUE_DRELU;
}

bool AreSignsGood(const WeirMatmulDesc& desc, const WeirMatrixLayout& d) {
  return desc.signs != nullptr && reinterpret_cast<uintptr_t>(desc.signs) % kSignsAlignment == 0 &&
         desc.signs_ld % kSignsAtOnce == 0 && desc.signs_ld >= static_cast<int64_t>(d.rows);
}

uint8_t* ByteOf(const WeirMatmulDesc& desc, uint64_t row, uint64_t column) {
  return static_cast<uint8_t*>(desc.signs) +
         (static_cast<uint64_t>(desc.signs_ld) * column + row) / 8;
}

// A group of 128 is written whole, by its first.
void WriteSign(const WeirMatmulDesc& desc, uint64_t row, uint64_t column, bool passes) {
  uint8_t* const byte = ByteOf(desc, row, column);
  if (row % kSignsAtOnce == 0) {
    for (int64_t i = 0; i < kSignsAtOnce / 8; ++i) byte[i] = 0;
  }
  if (passes) *byte = static_cast<uint8_t>(*byte | 1u << row % 8);
}

}  // namespace

cublasStatus_t CheckEpilogue(const WeirMatmulDesc& desc, const WeirMatrixLayout& d) {
  if (HasSigns(desc.epilogue) && !AreSignsGood(desc, d)) return CUBLAS_STATUS_INVALID_VALUE;
  switch (desc.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_DRELU:
      return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
      return desc.vector == nullptr ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_EPILOGUE_BGRADB:
      if (desc.vector == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
      return desc.b == CUBLAS_OP_T ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

float Ended(const WeirMatmulDesc& desc, uint64_t row, uint64_t column, float value) {
  const auto* const bias = static_cast<const float*>(desc.vector);
  switch (desc.epilogue) {
    case CUBLASLT_EPILOGUE_BIAS:
      return value + bias[row];
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS: {
      const bool passes = value + bias[row] > 0;
      WriteSign(desc, row, column, passes);
      return passes ? value + bias[row] : 0;
    }
    case CUBLASLT_EPILOGUE_DRELU:
      return (*ByteOf(desc, row, column) >> row % 8 & 1) != 0 ? value : 0;
    default:
      return value;
  }
}

}  // namespace weir::gpu::emulator
