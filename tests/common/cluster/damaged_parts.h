// Saved parts of which a few are not what they were.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>

#include "common/base/random.h"
#include "common/cluster/saved_parts.h"

namespace weir::cluster {

inline PartMap Damaged(PartMap parts, RandomStream& random) {
  for (uint64_t i = random.NextBelow(3) + 1; i > 0 && !parts.empty(); --i) {
    auto part = std::next(parts.begin(), static_cast<int64_t>(random.NextBelow(parts.size())));
    if (random.NextUnit() < 0.1) {
      parts.erase(part);
    } else if (random.NextUnit() < 0.1) {
      std::string name = part->first;
      name[random.NextBelow(name.size())] = static_cast<char>('0' + random.NextBelow(10));
      parts[name] = part->second;
    } else if (!part->second.empty()) {
      uint8_t& byte = part->second[random.NextBelow(part->second.size())];
      byte = static_cast<uint8_t>(random.NextUnit() < 0.5 ? byte ^ (1 << random.NextBelow(8))
                                                          : random.NextBelow(256));
    }
  }
  return parts;
}

}  // namespace weir::cluster
