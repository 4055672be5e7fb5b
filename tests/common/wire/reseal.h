// A frame's checksum, made good again after damage: for tests that want to come further than to it.
#pragma once

#include <xxhash.h>

#include <cstring>
#include <span>

#include "common/base/bytes.h"
#include "common/wire/frame.h"

namespace weir::wire {

// Of a lone frame, as docs/reference/wire_format.md describes it. Nothing to do for fewer bytes
// than a header may have.
inline void Reseal(std::span<uint8_t> frame) {
  if (frame.size() < kFrameHeaderBytesMin) return;
  uint64_t seed = 0;
  std::memcpy(&seed, frame.data(), 3);
  const auto checksum =
      static_cast<uint32_t>(XXH3_64bits_withSeed(frame.data() + 7, frame.size() - 7, seed));
  std::memcpy(frame.data() + 3, &checksum, sizeof(checksum));
}
inline void Reseal(Bytes* frame) { Reseal(std::span(*frame)); }

// Of frames end to end, as far as their lengths say where they are; what is left is one.
inline void ResealAll(std::span<uint8_t> frames) {
  while (!frames.empty()) {
    ByteReader reader(frames);
    reader.GetSpan(7);
    for (int number = 0; number < 3; ++number) reader.GetVarint();
    const uint64_t payload_bytes = reader.GetVarint();
    const bool is_there = reader.ok() && payload_bytes <= reader.remaining();
    const size_t rest = is_there ? reader.remaining() - payload_bytes : 0;
    Reseal(frames.first(frames.size() - rest));
    frames = frames.last(rest);
  }
}

}  // namespace weir::wire
