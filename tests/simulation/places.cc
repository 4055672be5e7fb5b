#include "tests/simulation/places.h"

#include "common/base/check.h"

namespace weir::simulation {

const PieceSpec& PieceOf(const ModelLayout& layout, const StageSpec& part, uint32_t server) {
  const PieceSpec* best = nullptr;
  for (const PieceSpec& piece : layout.pieces()) {
    const bool is_of_part = piece.tensor >= part.first_tensor && piece.tensor < part.end_tensor;
    if (piece.server != server || !is_of_part) continue;
    if (best == nullptr || piece.element_count > best->element_count) best = &piece;
  }
  CHECK(best != nullptr);
  return *best;
}

uint64_t RowOf(uint32_t trainer, uint32_t server, uint32_t server_count) {
  uint64_t found = 0;
  for (uint64_t id = 0;; ++id) {
    if (RowServer(0, id, server_count) == server && found++ == trainer) return id;
  }
}

}  // namespace weir::simulation
