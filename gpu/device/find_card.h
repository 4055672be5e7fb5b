// The cards of this machine, without taking anything of them.
//
// Thread rule: any thread.
#pragma once

#include "common/base/status.h"
#include "gpu/cuda.h"

namespace weir::gpu {

// What the card of that number is. FailedPrecondition says what is missing: no card, none of that
// number, a driver or a card that is too old.
Result<cudaDeviceProp> FindCard(int number);

}  // namespace weir::gpu
