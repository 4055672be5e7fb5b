// The boundary between policies and the device: a plain struct of typed functions over views, as
// common/kernels/kernel_table.h is for layers. A policy is written once against it; which table a
// layer's scope names is a matter of where its gradient and residual are. CpuSelectKernels() fills
// it for the CPU, with the functions of the same names, beside which each one's contract stands.
//
// Place in the life of a batch: backward -> **residual += gradient -> select** -> encode -> push.
// Thread rule: the functions are pure but for what they are given to write; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/compress/bucket_sums.h"
#include "common/compress/magnitude_moments.h"
#include "common/compress/ordered_squares.h"
#include "common/compress/policy.h"
#include "common/compress/stochastic_levels.h"
#include "common/compress/variance_select.h"

namespace weir::compress {

struct SelectKernels {
  // stripe_select.h
  void (*accumulate)(std::span<const float> gradient, std::span<float> residual);
  void (*accumulate_and_select)(std::span<const float> gradient, float threshold,
                                wire::ValueCoding values, std::span<float> residual,
                                StripeSelection* selection);
  void (*accumulate_and_quantize)(std::span<const float> gradient, float quantum,
                                  std::span<float> residual, StripeSelection* selection);

  // round_selection.h
  void (*round_selection)(std::span<float> residual, StripeSelection* selection);

  // candidates.h
  size_t (*collect_reaching)(std::span<const float> values, float least, uint32_t first,
                             float* magnitudes, uint32_t* indexes);

  // variance_select.h
  size_t (*accumulate_and_test)(std::span<const float> gradient, const VarianceTest& test,
                                std::span<float> residual, std::span<const float> square_sums,
                                uint16_t* indexes);
  void (*accumulate_and_take_quanta)(std::span<const float> gradient, const VarianceTest& test,
                                     bool corrects_after, std::span<float> residual,
                                     std::span<float> square_sums, StripeSelection* selection);

  // bucket_sums.h, stochastic_levels.h
  BucketSums (*sum_bucket)(std::span<const float> values);
  void (*append_levels)(std::span<const float> values, const Levels& levels, uint64_t chance,
                        uint32_t first, StripeSelection* selection);

  // ordered_squares.h
  double (*add_ordered_squares)(double sum, std::span<const float> values);

  // magnitude_moments.h
  Moments (*moments_above)(std::span<const float> values, float bound);
  double (*log_sum)(std::span<const float> values);
};

}  // namespace weir::compress
