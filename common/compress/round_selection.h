// The rounding of what a policy selected from a stripe to the value coding that carries it.
//
// Place in the life of a batch: residual += gradient -> select -> **round**.
// Thread rule: pure functions; the caller holds the stripe.
#pragma once

#include <span>

#include "common/compress/policy.h"

namespace weir::compress {

// Rounds the selected values, which have left the residual, to BF16; what rounding takes off each
// goes back there. What rounds to 0 is not selected any more. selection: sparse.
void RoundSelection(std::span<float> residual, StripeSelection* selection);

}  // namespace weir::compress
