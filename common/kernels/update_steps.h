// What a gradient does to one element, by each update rule: the same on every device. A rule fills
// in what a step needs to know (common/store/update_rule.h); m and v are the element's moments,
// those of a rule that has none are null.
//
// Place in the life of a batch: push -> number -> decode -> **apply** -> stamp -> answer.
// Thread rule: values. C++17-clean, so that a CUDA compiler can include it.
#pragma once

#include <cmath>
#include <cstdint>

#include "common/base/on_device.h"

namespace weir::kernels {

// sqrt(sum) + epsilon. Without an epsilon the sum can be zero, either because the gradient is or
// because its square underflows; infinity then makes the step zero, where zero would make it NaN or
// infinite.
WEIR_ON_DEVICE inline float AdagradDivisor(float sum, float epsilon) {
  const float divisor = std::sqrt(sum) + epsilon;
  return divisor > 0.0f ? divisor : HUGE_VALF;
}

struct SgdStep {
  float rate, decay;

  WEIR_ON_DEVICE void Take(float gradient, float& x, float* /*m*/, float* /*v*/) const {
    x -= decay * x + rate * gradient;
  }
};

struct AdagradStep {
  float rate, decay, epsilon;

  WEIR_ON_DEVICE void Take(float gradient, float& x, float* s, float* /*v*/) const {
    const float sum = *s + gradient * gradient;
    *s = sum;
    x -= decay * x + rate * gradient / AdagradDivisor(sum, epsilon);
  }
};

// x moves by rate * m + gradient_rate * g.
struct MomentumStep {
  float momentum, rate, gradient_rate, decay;

  WEIR_ON_DEVICE void Take(float gradient, float& x, float* m, float* /*v*/) const {
    const float velocity = momentum * *m + gradient;
    *m = velocity;
    x -= decay * x + (rate * velocity + gradient_rate * gradient);
  }
};

// share: 1 - beta.
struct AdamStep {
  float beta1, share1, beta2, share2, rate, root_scale, epsilon, decay;

  WEIR_ON_DEVICE void Take(float gradient, float& x, float* m, float* v) const {
    *m = beta1 * *m + share1 * gradient;
    *v = beta2 * *v + share2 * gradient * gradient;
    x -= decay * x + rate * *m / (std::sqrt(*v) * root_scale + epsilon);
  }
};

// One sum for a row of `size` elements.
struct RowwiseAdagradStep {
  float rate, epsilon;
};

// Coupled weight decay: what a gradient gets of its value, before its rule sees it. A gradient of
// zero is none.
struct L2Penalty {
  float with_gradient = 0, without_gradient = 0;

  WEIR_ON_DEVICE float AddTo(float gradient, float x) const {
    return gradient + (gradient != 0.0f ? with_gradient : without_gradient) * x;
  }
};

template <typename Step>
struct PenalisedStep {
  Step step;
  L2Penalty penalty;

  WEIR_ON_DEVICE void Take(float gradient, float& x, float* m, float* v) const {
    step.Take(penalty.AddTo(gradient, x), x, m, v);
  }
};

// Of whichever rule.
struct UpdateStep {
  enum class Rule : uint32_t { kSgd, kAdagrad, kMomentum, kAdam, kRowwiseAdagrad };

  UpdateStep(const SgdStep& step) : rule(Rule::kSgd), sgd(step) {}                 // NOLINT
  UpdateStep(const AdagradStep& step) : rule(Rule::kAdagrad), adagrad(step) {}     // NOLINT
  UpdateStep(const MomentumStep& step) : rule(Rule::kMomentum), momentum(step) {}  // NOLINT
  UpdateStep(const AdamStep& step) : rule(Rule::kAdam), adam(step) {}              // NOLINT
  UpdateStep(const RowwiseAdagradStep& step)                                       // NOLINT
      : rule(Rule::kRowwiseAdagrad), rowwise_adagrad(step) {}

  Rule rule;
  // Of dense elements; of rows with_gradient counts for all of a row.
  L2Penalty penalty;
  union {
    SgdStep sgd;
    AdagradStep adagrad;
    MomentumStep momentum;
    AdamStep adam;
    RowwiseAdagradStep rowwise_adagrad;
  };
};

}  // namespace weir::kernels
