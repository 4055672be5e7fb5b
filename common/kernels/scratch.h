// Memory for what a kernel computes on the way: a buffer per thread and use, which grows to the
// largest need so far and stays, so that only a step that is larger than all before it allocates.
//
// Place in the life of a batch: inside a kernel.
// Thread rule: any thread, each its own. One kernel at a time owns it: while it does, it calls none
// that asks for the same, too.
#pragma once

#include "common/tensor/aligned_buffer.h"

namespace weir::kernels::cpu {

enum class Use { kProduct, kSquares, kVectors };

// At least so many floats of any content, valid until this thread's next call for the same use.
template <Use use = Use::kProduct>
float* Scratch(size_t float_count) {
  thread_local tensor::AlignedBuffer buffer;
  if (buffer.size() < float_count) buffer = tensor::AlignedBuffer(float_count);
  return buffer.data();  // NOLINT(clang-analyzer-unix.Malloc): it loses sight of the deleter
}

}  // namespace weir::kernels::cpu
