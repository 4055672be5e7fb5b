#include "common/compress/stripe_select.h"

#include <cmath>

#include "common/base/check.h"

namespace weir::compress {

void AccumulateAndSelect(std::span<const float> gradient, float threshold, wire::ValueCoding values,
                         std::span<float> residual, StripeSelection* selection) {
  DCHECK_EQ(gradient.size(), residual.size());
  uint32_t count = 0;
  for (size_t i = 0; i < gradient.size(); ++i) {
    const float sum = residual[i] + gradient[i];
    residual[i] = sum;
    // Written without a branch: an index past the last selected one is overwritten by the next.
    selection->indexes[count] = static_cast<uint16_t>(i);
    count +=
        static_cast<uint32_t>(std::fabs(sum) >= threshold) & static_cast<uint32_t>(sum != 0.0f);
  }
  uint32_t sent = 0;
  for (uint32_t k = 0; k < count; ++k) {
    float& left = residual[selection->indexes[k]];
    const float value = wire::Round(left, values);
    left -= value;
    selection->indexes[sent] = selection->indexes[k];
    selection->values[sent] = value;
    sent += static_cast<uint32_t>(value != 0.0f);  // BF16 has no room for the tiniest
  }
  selection->dense = false;
  selection->count = sent;
}

void AccumulateStripe(std::span<const float> gradient, std::span<float> residual) {
  DCHECK_EQ(gradient.size(), residual.size());
  for (size_t i = 0; i < gradient.size(); ++i) residual[i] += gradient[i];
}

}  // namespace weir::compress
