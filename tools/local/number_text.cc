#include "tools/local/number_text.h"

#include <cmath>
#include <cstdint>

#include "common/base/strings.h"

namespace weir::tools {

std::string CountWithCommas(double count) {
  constexpr double kMaxCount = 1e15;
  // Written so that NaN becomes 0.
  const double bounded = count > 0 ? std::fmin(count, kMaxCount) : 0;
  std::string digits = std::to_string(std::llround(bounded));
  for (size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, 1, ',');
  return digits;
}

std::string DurationText(double seconds) {
  const int64_t total = std::llround(std::ceil(seconds));
  const std::string minutes_seconds = Format("%02.0f:", static_cast<double>(total / 60 % 60)) +
                                      Format("%02.0f", static_cast<double>(total % 60));
  return total < 3600 ? minutes_seconds : StrCat(total / 3600, ":", minutes_seconds);
}

}  // namespace weir::tools
