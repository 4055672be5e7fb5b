// cuBLASLt's functions, by name. The library is half a gigabyte and on no machine without CUDA, so
// it is not linked: it is opened when a program first multiplies on a card.
//
// Place in the life of a batch: below the products of linear layers on a card.
// Thread rule: any thread; the functions are there until the process ends.
#pragma once

#include "gpu/cublas_lt.h"

namespace weir::gpu {

#define WEIR_CUBLAS_LT_FUNCTIONS(visit)                                                         \
  visit(GetVersion) visit(GetStatusString) visit(Create) visit(Destroy) visit(MatmulDescCreate) \
      visit(MatmulDescSetAttribute) visit(MatmulDescDestroy) visit(MatrixLayoutCreate)          \
          visit(MatrixLayoutDestroy) visit(MatmulPreferenceCreate)                              \
              visit(MatmulPreferenceSetAttribute) visit(MatmulPreferenceDestroy)                \
                  visit(MatmulAlgoGetHeuristic) visit(Matmul)

struct CublasLtFunctions {
#define WEIR_FUNCTION(name) decltype(&::cublasLt##name) name = nullptr;
  WEIR_CUBLAS_LT_FUNCTIONS(WEIR_FUNCTION)
#undef WEIR_FUNCTION
};

// Null where there is none, or one of another major version than that which we were built with. The
// log says once which it is.
const CublasLtFunctions* FindCublasLt();

}  // namespace weir::gpu
