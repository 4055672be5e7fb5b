#include "tools/bench/peers/gemm_libraries.h"

namespace weir::bench {

std::string OpenBlasCoreType() { return ""; }

GemmLibrary OpenBlas() { return {"openblas", "OpenBLAS: not installed when this was built"}; }

}  // namespace weir::bench
