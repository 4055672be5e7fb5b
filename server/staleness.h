// How many steps were applied between the parameters that a push was computed from and the step
// that it is of.
//
// Thread rule: pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/proto/protocol.pb.h"

namespace weir::server {

inline uint32_t Staleness(const v1::Push& push, uint64_t version) {
  const uint64_t known = push.read_version() + 1;
  return version > known ? static_cast<uint32_t>(std::min<uint64_t>(version - known, UINT32_MAX))
                         : 0;
}

}  // namespace weir::server
