// Gradient clipping: scales a step's gradients down to a norm.
//
// Place in the life of a batch: backward -> **clip** -> residual += gradient -> select -> push.
// Thread rule: pure, any thread.
#pragma once

#include <span>

namespace weir::worker {

// Scales the gradients to the L2 norm `limit` when theirs is larger, all by the same factor
// (Pascanu, Mikolov, Bengio, ICML 2013, section 3.2), and their squares, if there are any, by its
// square. limit 0: leaves them. Returns the factor.
float ClipNorm(double limit, std::span<float> gradients, std::span<float> squares = {});

}  // namespace weir::worker
