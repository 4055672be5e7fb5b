// Where a backward pass adds up the squares that a policy asks for: of each element of a tensor the
// sum, over steps and their samples, of the square of what the sample gives to the element's
// gradient (Tsuzuku et al. 2018, section 4), in which earlier steps count less.
//
// Place in the life of a batch: **backward** writes it, select reads it.
// Thread rule: the policy's state owns the sums, which stay where they are. A worker's Hogwild
// threads add to them, and policies take from them, without a lock (common/base/hogwild.h). They
// estimate noise, and may be off: where a thread adds to a few thousand of them while another adds
// or a policy takes, what the other did is lost; and what a policy takes away when it sends may
// hold squares whose gradients are still on their way to the residual.
#pragma once

#include <vector>

#include "common/device/pointer.h"

namespace weir::compress {

struct SquareSums {
  device::Span<float> sums;  // of the tensor's elements; empty: nobody asks for them
  float decay = 1;           // what is left, after each step, of the sums before it
};

// Of a layout's tensors, by index; empty: nobody asks for any.
using SquareSumsOfTensors = std::vector<SquareSums>;

}  // namespace weir::compress
