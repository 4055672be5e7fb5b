// The squares of one step, apart from the sums they belong to, for steps whose gradients may be
// clipped: their squares are then smaller too, by a factor that is known once all gradients are.
//
// Place in the life of a batch: **backward** -> clip -> **sums of squares** -> select.
// Thread rule: thread-compatible, one per Hogwild thread; the sums are shared without a lock
// (common/compress/square_sums.h) and outlive it.
#pragma once

#include <cstdint>
#include <vector>

#include "common/compress/square_sums.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"

namespace weir::worker {

class ClippedSquares {
 public:
  ClippedSquares(const kernels::Compute& compute, compress::SquareSumsOfTensors sums);

  // What a backward pass overwrites with the squares of its step, which has rows.
  compress::SquareSumsOfTensors of_step();

  // Of what Add enqueues but for the factor (device::RepeatKey).
  uint64_t Key() const;

  // sums = decay sums + *factor^2 times the squares of the step. factor: the gradients'.
  void Add(device::Stream& stream, device::Pointer<const float> factor);

 private:
  const kernels::DeviceKernels& kernels_;
  const compress::SquareSumsOfTensors sums_;
  std::vector<device::Buffer<float>> squares_;  // by tensor
};

}  // namespace weir::worker
