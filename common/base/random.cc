#include "common/base/random.h"

#include <random>

namespace weir {

uint64_t RandomNonce() {
  std::random_device random;
  return (static_cast<uint64_t>(random()) << 32 | random()) | 1;
}

}  // namespace weir
