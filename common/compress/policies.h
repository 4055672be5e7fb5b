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

// What is larger than its noise, as powers of two (Tsuzuku et al., ICLR workshop 2018).
std::unique_ptr<const Policy> MakeVariance(const v1::PolicyRule& rule);

// Strom's quanta of what is larger than its noise (the same).
std::unique_ptr<const Policy> MakeHybrid(const v1::PolicyRule& rule);

// Levels of a bucket's norm, by chance (Alistarh et al., NeurIPS 2017).
std::unique_ptr<const Policy> MakeQsgd(const v1::PolicyRule& rule);

// The largest magnitude or nothing, by chance (Wen et al., NeurIPS 2017).
std::unique_ptr<const Policy> MakeTerngrad(const v1::PolicyRule& rule);

// Signs and their means, with a residual (Seide et al., Interspeech 2014).
std::unique_ptr<const Policy> MakeOneBit(const v1::PolicyRule& rule);

// The largest of pieces that trainers take in turn (Yoon and Oh, ICPP 2023).
std::unique_ptr<const Policy> MakeDeft(const v1::PolicyRule& rule);

// What of partitions, which trainers take in turn, reaches a threshold of all (Yoon and Oh, CCGrid
// 2024).
std::unique_ptr<const Policy> MakeExDyna(const v1::PolicyRule& rule);

// The k largest of the trainer whose turn it is (Chen et al., NeurIPS 2020).
std::unique_ptr<const Policy> MakeCltK(const v1::PolicyRule& rule);

// The union of all trainers' k largest (Yoon and Oh, ICPP 2023: what DEFT is compared with).
std::unique_ptr<const Policy> MakeUnionTopK(const v1::PolicyRule& rule);

// The union of what of any trainer reaches a threshold that never changes (the same).
std::unique_ptr<const Policy> MakeUnionHardThreshold(const v1::PolicyRule& rule);

}  // namespace weir::compress
