#include "common/layout/message_bound.h"

#include <algorithm>
#include <vector>

#include "common/base/strings.h"

namespace weir {
namespace {

// More than a piece's frame header and the header part take.
constexpr int64_t kOverheadPerPiece = 256;

}  // namespace

Status CheckMessageBound(const v1::Config& config, const ModelLayout& layout) {
  std::vector<int64_t> bytes(layout.server_count());
  for (const PieceSpec& piece : layout.pieces()) {
    const int64_t stripes = (piece.element_count + kStripeElements - 1) / kStripeElements;
    bytes[piece.server] += piece.element_count * static_cast<int64_t>(sizeof(float)) +
                           (stripes + 1) * kOverheadPerPiece;
  }
  const auto largest = std::ranges::max_element(bytes);
  const int64_t bound = config.cluster().max_message_bytes();
  if (*largest <= bound) return OkStatus();
  return InvalidConfig(
      StrCat("cluster.max_message_bytes: ", bound, " is too small for server ",
             largest - bytes.begin(), ", whose first answer holds ", *largest,
             " bytes of dense parameters; set at least that, or use more servers"));
}

}  // namespace weir
