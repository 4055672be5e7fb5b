#include "tools/bench/openblas_core.h"

#include <unistd.h>

#include <cstdlib>

#include "tools/bench/machine.h"

namespace weir::bench {

void LetOpenBlasUseAvx512(char** argv) {
  constexpr const char* kVariable = "OPENBLAS_CORETYPE";
  const Machine machine = DescribeMachine();
  if (getenv(kVariable) != nullptr || !machine.is_amd || !machine.simd.starts_with("AVX-512")) {
    return;
  }
  setenv(kVariable, "SkylakeX", /*overwrite=*/1);
  execv("/proc/self/exe", argv);  // returns only if it fails, and then the peers are slower
}

}  // namespace weir::bench
