// A product of a linear layer, as its entries ask for it.
//
// Place in the life of a batch: forward and backward, on a card.
// Thread rule: values.
#pragma once

#include <cstdint>

#include "gpu/kernels/factor.h"

namespace weir::gpu {

// What becomes of a turned product's sums on the way out. vector: a bias. signs: a ReLU's, which
// it makes, or those of whose result the product is the gradient.
struct Ending {
  enum class Kind { kNone, kBias, kBiasAndRelu, kReluBackward };
  Kind kind = Kind::kNone;
  const float* vector = nullptr;
  const uint32_t* signs = nullptr;
  int64_t signs_stride = 0;  // words
};

// to = left right, or to += left right, as tiles have them: to(row, column) is the sum over k of
// left(row, k) right(column, k).
struct Product {
  Factor left, right;
  RawMatrix<float> to;
  bool adds = false;
  // Not null: also the sums of left's rows over k, or added to them; of what was not rounded, but
  // for a turned left, of which the library sums what it multiplies.
  float* left_sums = nullptr;
  // to is the transpose: to(column, row).
  bool is_turned = false;
  Ending ending = {};  // of what is turned
};

}  // namespace weir::gpu
