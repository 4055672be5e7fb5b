#include "tools/bench/peers/gemm_libraries.h"

#include <array>

namespace weir::bench {

std::span<const GemmLibrary> GemmLibraries() {
  static const std::array<GemmLibrary, 2> libraries = {OneDnn(), OpenBlas()};
  return libraries;
}

}  // namespace weir::bench
