// What a server says while it loads.
#pragma once

#include <cstdint>

#include "common/proto/protocol.pb.h"

namespace weir::session {

inline v1::Loading LoadingOf(uint64_t done_bytes, uint64_t total_bytes) {
  v1::Loading loading;
  loading.set_done_bytes(done_bytes);
  loading.set_total_bytes(total_bytes);
  return loading;
}

}  // namespace weir::session
