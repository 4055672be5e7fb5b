// A frame's checksum, made good again after damage: for tests that want to come further than to it.
#pragma once

#include <xxhash.h>

#include <cstring>

#include "common/base/bytes.h"
#include "common/wire/frame.h"

namespace weir::wire {

// Of a lone frame, as docs/reference/wire_format.md describes it. Nothing to do for fewer bytes
// than a header may have.
inline void Reseal(Bytes* frame) {
  if (frame->size() < kFrameHeaderBytesMin) return;
  uint64_t seed = 0;
  std::memcpy(&seed, frame->data(), 3);
  const auto checksum =
      static_cast<uint32_t>(XXH3_64bits_withSeed(frame->data() + 7, frame->size() - 7, seed));
  std::memcpy(frame->data() + 3, &checksum, sizeof(checksum));
}

}  // namespace weir::wire
