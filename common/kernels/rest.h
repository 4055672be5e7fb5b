// What steps without a gradient do to one element, all of them at once: the same on every device.
// common/store/rest.h has where the numbers come from.
//
// Place in the life of a batch: push -> number -> decode -> **apply**; row pull -> **read**.
// Thread rule: values. C++17-clean, so that a CUDA compiler can include it.
#pragma once

#include <cmath>

#include "common/kernels/update_steps.h"

namespace weir::kernels {

// x -= lost * x + m * displacement / (sqrt(v) * root_scale + epsilon); m *= fade; v *= second_fade.
struct Rest {
  float lost = 0;
  float displacement = 0;
  float root_scale = 1;
  float fade = 1;
  float second_fade = 1;

  // Of rules that only decay.
  WEIR_ON_DEVICE void Catch(float& x) const { x -= lost * x; }
  // Of momentum, which divides by nothing.
  WEIR_ON_DEVICE void Catch(float& x, float* m) const {
    x -= lost * x + displacement * *m;
    *m *= fade;
  }
  // Of Adam.
  WEIR_ON_DEVICE void Catch(float& x, float* m, float* v, float epsilon) const {
    const float divisor = std::sqrt(*v) * root_scale + epsilon;
    x -= lost * x + displacement * *m / divisor;
    *m *= fade;
    *v *= second_fade;
  }
  // Of whichever rule.
  WEIR_ON_DEVICE void Catch(const UpdateStep& step, float& x, float* m, float* v) const {
    switch (step.rule) {
      case UpdateStep::Rule::kMomentum:
        return Catch(x, m);
      case UpdateStep::Rule::kAdam:
        return Catch(x, m, v, step.adam.epsilon);
      default:
        return Catch(x);
    }
  }
};

}  // namespace weir::kernels
