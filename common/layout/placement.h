// Who serves which part of a model: dense tensors are cut into pieces of whole stripes, and each
// piece goes to the server that has the fewest elements so far, of such the first; rows go by a
// hash of their id. Servers and workers derive it independently and must agree.
//
// Place in the life of a batch: none; see model_shape.h.
// Thread rule: immutable after construction, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/layout/model_shape.h"

namespace weir {

// Elements of a stripe: the unit of residual locking and of wire coding.
inline constexpr int64_t kStripeElements = 4096;
// Stripes of a piece: the unit of ownership by one strand of one server. Each has a frame of its
// own in a push: where 1 % of elements are sent, the 23 bytes of its heads are 0.14 bits of each.
inline constexpr int64_t kPieceStripes = 32;

// A range of one tensor, owned by one server.
struct PieceSpec {
  uint32_t id = 0;
  uint32_t tensor = 0;
  int64_t begin = 0;  // first element in the tensor; a multiple of kStripeElements
  int64_t element_count = 0;
  uint32_t server = 0;
};

class Placement {
 public:
  // server_count >= 1.
  Placement(const ModelShape& shape, uint32_t server_count);

  uint32_t server_count() const { return server_count_; }
  std::span<const PieceSpec> pieces() const { return pieces_; }
  std::span<const PieceSpec> tensor_pieces(uint32_t tensor) const;

 private:
  uint32_t server_count_;
  std::vector<PieceSpec> pieces_;
  std::vector<uint32_t> first_piece_;  // per tensor, and one past the last
};

// Server and row partition of a row. Independent hashes, so partitions are even within a server.
uint32_t RowServer(uint32_t table, uint64_t id, uint32_t server_count);
uint32_t RowPartition(uint32_t table, uint64_t id, uint32_t partition_count);

}  // namespace weir
