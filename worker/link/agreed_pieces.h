// Which elements of all servers' pieces the trainers of a round have agreed on.
//
// Place in the life of a batch: union -> take, **push** -> **answer -> replica**.
// Thread rule: constant once it is made.
#pragma once

#include <cstdint>
#include <vector>

namespace weir::worker {

// By PieceSpec::id: offsets in the piece, strictly increasing; mostly none.
struct AgreedPieces {
  std::vector<std::vector<uint32_t>> of_piece;
};

}  // namespace weir::worker
