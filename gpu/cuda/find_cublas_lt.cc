#include <dlfcn.h>

#include <string>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/base/strings.h"
#include "gpu/device/cublas_lt_functions.h"

namespace weir::gpu {
namespace {

// Its version is 10000 major + 100 minor + patch, and its major version is CUDA's.
constexpr size_t kMajor = 10000;

// What dlopen or dlsym failed for.
Status Missing() {
  const char* const why = dlerror();
  return NotFound(why == nullptr ? "no reason given" : why);
}

Result<void*> OpenLibrary() {
  const std::string of_our_version = StrCat("libcublasLt.so.", CUBLAS_VER_MAJOR);
  if (void* const library = dlopen(of_our_version.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const Status missing = Missing();
  if (void* const library = dlopen("libcublasLt.so", RTLD_NOW | RTLD_LOCAL)) return library;
  return missing;
}

// The library stays open.
Result<CublasLtFunctions> Load() {
  WEIR_ASSIGN_OR_RETURN(void* const library, OpenLibrary());
  CublasLtFunctions functions;
#define WEIR_FUNCTION(name)                                                                      \
  functions.name = reinterpret_cast<decltype(functions.name)>(dlsym(library, "cublasLt" #name)); \
  if (functions.name == nullptr) return Missing();
  WEIR_CUBLAS_LT_FUNCTIONS(WEIR_FUNCTION)
#undef WEIR_FUNCTION
  const size_t version = functions.GetVersion();
  if (version / kMajor != CUBLAS_VER_MAJOR) {
    return FailedPrecondition(
        StrCat("it is of version ", version / kMajor, ", and this build needs ", CUBLAS_VER_MAJOR));
  }
  return functions;
}

}  // namespace

const CublasLtFunctions* FindCublasLt() {
  static const Result<CublasLtFunctions>* const loaded = [] {
    auto* const functions = new Result<CublasLtFunctions>(Load());
    if (functions->ok()) {
      LOG(INFO) << "matrix products on cards are cuBLASLt's, version "
                << (*functions)->GetVersion();
    } else {
      LOG(INFO) << "matrix products on cards are our own, and slow: cuBLASLt is not used: "
                << functions->status().message();
    }
    return functions;
  }();
  return loaded->ok() ? &**loaded : nullptr;
}

}  // namespace weir::gpu
