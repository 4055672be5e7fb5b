// One factory per policy, each with its source. Only common/compress/policy_table.cc calls them.
#pragma once

#include <memory>

#include "common/compress/policy.h"

namespace weir::compress {

// Everything, every step: the baseline. No residual, so BF16 rounding is lost.
std::unique_ptr<const Policy> MakeNone(const v1::PolicyRule& rule);

// DCT-DP, Dynamic Communication Thresholding (Gupta et al., KDD 2021, section 3.2).
std::unique_ptr<const Policy> MakeDctDp(const v1::PolicyRule& rule);

// The k largest of |gradient + residual| (Aji and Heafield, EMNLP 2017).
std::unique_ptr<const Policy> MakeTopK(const v1::PolicyRule& rule);

// So many elements that chance chose (Stich et al., NeurIPS 2018).
std::unique_ptr<const Policy> MakeRandomK(const v1::PolicyRule& rule);

// What reaches a threshold that never changes (Sahu et al., NeurIPS 2021).
std::unique_ptr<const Policy> MakeHardThreshold(const v1::PolicyRule& rule);

// What a fitted distribution's tail gives (Abdelmoniem et al., MLSys 2021).
std::unique_ptr<const Policy> MakeSidco(const v1::PolicyRule& rule);

// One quantum of each element beyond a threshold (Strom, Interspeech 2015).
std::unique_ptr<const Policy> MakeStrom(const v1::PolicyRule& rule);

}  // namespace weir::compress
