#include "tools/bench/peers/gemm_libraries.h"

namespace weir::bench {

GemmLibrary OneDnn() { return {"onednn", "oneDNN: not installed when this was built"}; }

Bf16Products OneDnnBf16Products(const std::vector<GemmLayer>& /*layers*/) {
  return {OneDnn().peer, nullptr};
}

}  // namespace weir::bench
