#include "gpu/device/cublas_lt_functions.h"

namespace weir::gpu {

const CublasLtFunctions* FindCublasLt() {
#define WEIR_FUNCTION(name) .name = ::cublasLt##name,
  static constexpr CublasLtFunctions kFunctions{WEIR_CUBLAS_LT_FUNCTIONS(WEIR_FUNCTION)};
#undef WEIR_FUNCTION
  return emulator::faults().cublas_lt == emulator::Library::kAbsent ? nullptr : &kFunctions;
}

}  // namespace weir::gpu
