// What kernels are told beside views.
//
// Place in the life of a batch: forward, loss and backward.
// Thread rule: values. C++17-clean, so that a CUDA compiler can include it.
#pragma once

#include <cstdint>

namespace weir::kernels {

// A linear layer of fewer outputs multiplies numbers of 32 bits where others have bfloat16.
inline constexpr int64_t kThinOutputs = 4;

enum class Activation { kNone, kRelu };

// Which dot products the interaction has: of distinct vectors, or of each with itself as well.
enum class Pairs { kDistinct, kWithSelf };

// What is made small: binary cross entropy, each sample's weighted by its label's class, or the
// squared difference of probability and label.
struct Loss {
  enum class Kind { kCrossEntropy, kSquare };
  Kind kind = Kind::kCrossEntropy;
  double positive_weight = 1;
  double negative_weight = 1;
};

}  // namespace weir::kernels
