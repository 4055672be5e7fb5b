// Memory for what a kernel computes on the way: one buffer per thread, which grows to the largest
// need and stays, so that no step but a thread's first allocates.
//
// Place in the life of a batch: inside a kernel.
// Thread rule: any thread, each its own. One kernel call at a time owns it: a kernel does not call
// another one while it holds it.
#pragma once

#include <algorithm>

#include "common/tensor/aligned_buffer.h"

namespace weir::kernels::cpu {

// At least so many floats of any content, valid until this thread's next call.
inline float* Scratch(size_t float_count) {
  thread_local tensor::AlignedBuffer buffer;
  if (buffer.size() < float_count) buffer = tensor::AlignedBuffer(float_count);
  return buffer.data();  // NOLINT(clang-analyzer-unix.Malloc): it loses sight of the deleter
}

}  // namespace weir::kernels::cpu
