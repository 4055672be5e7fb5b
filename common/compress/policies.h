// One factory per policy, each with its source. Only common/compress/policy_table.cc calls them.
#pragma once

#include <memory>

#include "common/compress/policy.h"

namespace weir::compress {

// Everything, every step: the baseline. No residual, so BF16 rounding is lost.
std::unique_ptr<const Policy> MakeNone(const v1::PolicyRule& rule);

// DCT-DP, Dynamic Communication Thresholding (Gupta et al., KDD 2021, section 3.2).
std::unique_ptr<const Policy> MakeDctDp(const v1::PolicyRule& rule);

}  // namespace weir::compress
