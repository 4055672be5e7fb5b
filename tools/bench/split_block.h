// A block of activations or of their gradient, as the section split sends it, and what must arrive
// of it.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "common/kernels/kernel_table.h"
#include "common/tensor/aligned_buffer.h"

namespace weir::bench {

// [kWidth, kSamples], behind a ReLU.
class Block {
 public:
  static constexpr int64_t kWidth = 256;
  static constexpr int64_t kSamples = 128;  // a slice of a batch: what trainers choose from at once

  explicit Block(uint64_t seed);

  kernels::MatrixView view();
  void CopyTo(Block* other);
  float& At(int64_t feature, int64_t sample) { return view().row(feature)[sample]; }

 private:
  tensor::AlignedBuffer values_;
};

// Of each sample what reaches its keep-th largest arrived, rounded, and nothing else; and of the
// gradient the same elements.
Status VerifyLargest(int64_t keep, Block& sent, Block& arrived, Block& gradient_sent,
                     Block& gradient_arrived);

}  // namespace weir::bench
