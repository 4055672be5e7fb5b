// Which elements of a server's pieces the trainers of a round have agreed on.
//
// Place in the life of a batch: proposals -> **union** -> agreed gradients -> mean, answer.
// Thread rule: constant once it is made.
#pragma once

#include <cstdint>
#include <vector>

namespace weir::server {

// By dense strand: offsets in its piece, strictly increasing; mostly none.
struct AgreedElements {
  std::vector<std::vector<uint32_t>> of_strand;
};

}  // namespace weir::server
