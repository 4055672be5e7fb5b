// The k largest magnitudes by a heap, as the cost model of DEFT's paper counts a top-k (Yoon and
// Oh, ICPP 2023): every element is put in, and whatever is the least beyond k is taken out, so an
// element costs log k. The peer of our own selection, which reads elements once.
//
// Thread rule: one thread. Keeps its memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/compress/layer_ranges.h"

namespace weir::bench {

class HeapLargest {
 public:
  // The least of the k largest of all ranges together; 0 of nothing.
  float Select(std::span<compress::Residual* const> residuals,
               std::span<const compress::LayerRange> ranges, size_t k);

 private:
  struct Element {
    float magnitude;
    uint32_t index;
  };
  void Put(Element element, size_t k);

  std::vector<Element> heap_;  // the least on top
};

}  // namespace weir::bench
