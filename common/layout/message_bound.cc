#include "common/layout/message_bound.h"

#include <algorithm>
#include <vector>

#include "common/base/strings.h"

namespace weir {
namespace {

// More than a piece's frame header and a part's framing take.
constexpr int64_t kOverheadPerPiece = 256;
// A stripe whose elements are all carried but one has a bitmap beside its values, and a block head.
constexpr int64_t kOverheadPerStripe = kStripeElements / 8 + 32;

}  // namespace

Status CheckMessageBound(const v1::Config& config, const ModelLayout& layout) {
  std::vector<int64_t> bytes(layout.server_count());
  for (const PieceSpec& piece : layout.pieces()) {
    const int64_t stripes = (piece.element_count + kStripeElements - 1) / kStripeElements;
    bytes[piece.server] += piece.element_count * static_cast<int64_t>(sizeof(float)) +
                           stripes * kOverheadPerStripe + kOverheadPerPiece;
  }
  const auto largest = std::ranges::max_element(bytes);
  const int64_t bound = config.cluster().max_message_bytes();
  if (*largest <= bound) return OkStatus();
  return InvalidConfig(StrCat("cluster.max_message_bytes: ", bound, " is too small for server ",
                              largest - bytes.begin(), ", whose dense parameters can take ",
                              *largest,
                              " bytes in one answer; set at least that, or use more servers"));
}

}  // namespace weir
