// What of an element leaves, by the kinds of kernels::Taking: the arithmetic of policies, as the
// CPU's kernels have it (common/compress/select_kernels.h), to the bit.
//
// A taker is made by every thread of a block for a stripe, and called for the stripe's elements;
// all threads come to its constructor, which has shared memory for compress::kChosenWords words.
#pragma once

#include "gpu/kernels/take_by_chance.h"
#include "gpu/kernels/take_by_size.h"
#include "gpu/kernels/take_by_test.h"

namespace weir::gpu {

template <typename T>
struct TakerKind {
  using Taker = T;
};

// Calls use(TakerKind<...>()) with that of the plan.
template <typename Use>
__device__ void WithTaker(kernels::Taking taking, const Use& use) {
  switch (taking) {
    case kernels::Taking::kNothing:
      return use(TakerKind<TakeNothing>());
    case kernels::Taking::kReaching:
      return use(TakerKind<TakeReaching>());
    case kernels::Taking::kQuanta:
      return use(TakerKind<TakeQuanta>());
    case kernels::Taking::kPassingQuanta:
      return use(TakerKind<TakePassingQuanta>());
    case kernels::Taking::kPassingPowers:
      return use(TakerKind<TakePassingPowers>());
    case kernels::Taking::kLevels:
      return use(TakerKind<TakeLevels>());
    case kernels::Taking::kMeans:
      return use(TakerKind<TakeMeans>());
    case kernels::Taking::kChosen:
      return use(TakerKind<TakeChosen>());
    case kernels::Taking::kAll:
      return use(TakerKind<TakeAll>());
  }
}

}  // namespace weir::gpu
