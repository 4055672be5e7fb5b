#include "common/layout/placement.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/random_streams.h"

namespace weir {

Placement::Placement(const ModelShape& shape, uint32_t server_count) : server_count_(server_count) {
  CHECK_GE(server_count, 1u);
  constexpr int64_t kPieceElements = kPieceStripes * kStripeElements;
  std::vector<int64_t> elements_of(server_count_);
  for (const TensorSpec& tensor : shape.tensors()) {
    first_piece_.push_back(static_cast<uint32_t>(pieces_.size()));
    for (int64_t begin = 0; begin < tensor.element_count(); begin += kPieceElements) {
      const int64_t count = std::min(kPieceElements, tensor.element_count() - begin);
      const auto lightest = std::ranges::min_element(elements_of);
      *lightest += count;
      pieces_.push_back({static_cast<uint32_t>(pieces_.size()), tensor.id, begin, count,
                         static_cast<uint32_t>(lightest - elements_of.begin())});
    }
  }
  first_piece_.push_back(static_cast<uint32_t>(pieces_.size()));
}

std::span<const PieceSpec> Placement::tensor_pieces(uint32_t tensor) const {
  const uint32_t first = first_piece_[tensor];
  return std::span(pieces_).subspan(first, first_piece_[tensor + 1] - first);
}

uint32_t RowServer(uint32_t table, uint64_t id, uint32_t server_count) {
  return static_cast<uint32_t>((KeyedHash(kRowServerSeed, table, id) >> 32) % server_count);
}

uint32_t RowPartition(uint32_t table, uint64_t id, uint32_t partition_count) {
  return static_cast<uint32_t>((KeyedHash(kRowPartitionSeed, table, id) >> 32) % partition_count);
}

}  // namespace weir
