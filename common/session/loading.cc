#include "common/session/loading.h"

#include <algorithm>

#include "common/base/strings.h"

namespace weir::session {

// A peer's numbers may be any.
std::string DescribeLoading(const v1::Loading& loading) {
  const double total = std::max(1.0, static_cast<double>(loading.total_bytes()));
  const double share = std::min(1.0, static_cast<double>(loading.done_bytes()) / total);
  return StrCat("is loading, ", static_cast<int>(100 * share), " %");
}

}  // namespace weir::session
