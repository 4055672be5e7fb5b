// The products of the same layers by libraries: what our kernels are set beside. weir-bench is
// built with those that are installed (tools/install_dependencies bench), and leaves the lines of
// the others without a peer.
//
// Thread rule: one thread; libraries are told to use one.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tools/bench/gemm_layers.h"

namespace weir::bench {

struct GemmLibrary {
  std::string name;  // in names of lines: "onednn"
  std::string peer;  // "oneDNN 2.6.3 dnnl_sgemm"; or that it is not installed
  // The three products of a layer, row-major, without what stands around them. Null: not installed.
  void (*run)(GemmLayer*) = nullptr;
};

// All that there may be, installed or not, told to use one thread.
std::span<const GemmLibrary> GemmLibraries();

struct Bf16Products {
  std::string peer;           // "oneDNN 2.6.3 matmul of BF16"; or why there are none here
  std::function<void()> run;  // null: not installed, or not on this processor
};

// All products of the layers with bfloat16 numbers by oneDNN, row-major on both sides, rounded
// beforehand.
Bf16Products OneDnnBf16Products(const std::vector<GemmLayer>& layers);

// What OpenBLAS takes the processor for, as it names it: "Zen"; "" where it is not installed.
std::string OpenBlasCoreType();

// What the sources of one library give to the table above; nobody else calls these.
GemmLibrary OneDnn();
GemmLibrary OpenBlas();

}  // namespace weir::bench
