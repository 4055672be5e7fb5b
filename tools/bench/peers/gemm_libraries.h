// The products of the same layers by libraries: what our kernels are set beside.
//
// Thread rule: one thread; libraries are told to use one.
#pragma once

#include <dnnl.hpp>

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/bench/gemm_layers.h"

namespace weir::bench {

// What OpenBLAS takes the processor for, as it names it: "Zen".
std::string OpenBlasCoreType();

// Once, before the others.
void KeepLibrariesOnOneThread();

// The three products of a layer, row-major, without what stands around them.
void RunByOneDnn(GemmLayer* layer);
void RunByOpenBlas(GemmLayer* layer);

// The same products of bfloat16 numbers by oneDNN, row-major on both sides, rounded beforehand.
class OneDnnBf16 {
 public:
  // Throws dnnl::error where oneDNN has none on this processor.
  explicit OneDnnBf16(const GemmLayer& o);
  void Run();

 private:
  struct Product {
    dnnl::matmul matmul;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  void Add(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
           std::vector<uint16_t>* a, std::vector<uint16_t>* b, size_t result_size);

  std::vector<uint16_t> x_, w_, y_;
  std::deque<tensor::AlignedBuffer> results_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<Product> products_;
};

}  // namespace weir::bench
