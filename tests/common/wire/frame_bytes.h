// What the tests of common/wire share: frames out of parts, frames with a checksum made good again
// after damage, index lists at a density.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/random.h"
#include "common/wire/frame.h"
#include "tests/common/wire/reseal.h"

namespace weir::wire {

// A sealed frame that says these things of itself, true or not.
struct Claims {
  uint8_t mark = kFrameMark, version = kFrameVersion, kind = 1, coding = 1;
  uint64_t tensor = 0, begin = 0, count = 0, length = 0;
};
inline Bytes MakeClaimedFrame(const Claims& claims, ByteSpan payload) {
  Bytes frame;
  ByteWriter writer(frame);
  writer.Put(claims.mark);
  writer.Put(claims.version);
  writer.Put(static_cast<uint8_t>(claims.kind | claims.coding << 4));
  writer.Put(uint32_t{0});
  for (const uint64_t number : {claims.tensor, claims.begin, claims.count, claims.length}) {
    writer.PutVarint(number);
  }
  writer.PutRaw(payload.data(), payload.size());
  Reseal(&frame);
  return frame;
}

// What a header claims with a payload of so many bytes.
inline Claims ClaimsOf(const FrameHeader& header, size_t payload_bytes) {
  return {.kind = static_cast<uint8_t>(header.kind),
          .coding = static_cast<uint8_t>(header.coding),
          .tensor = header.tensor,
          .begin = header.begin,
          .count = header.count,
          .length = payload_bytes};
}

// A sealed frame with any count, true or not, of the payload's true length.
inline Bytes MakeFrame(const FrameHeader& header, ByteSpan payload) {
  return MakeClaimedFrame(ClaimsOf(header, payload.size()), payload);
}

// The view of a buffer that holds one good frame.
inline FrameView OnlyFrame(ByteSpan bytes) {
  FrameCursor cursor(bytes);
  Result<FrameView> view = cursor.Next();
  EXPECT_TRUE(view.ok()) << view.status();
  EXPECT_TRUE(cursor.done());
  return view.ok() ? *view : FrameView{};
}

// A view that no cursor has checked, to reach decoders with any header.
inline FrameView UncheckedView(const FrameHeader& header, ByteSpan payload) {
  FrameView view = {.header = header, .header_bytes = 0, .payload = payload};
  view.header.length = static_cast<uint32_t>(payload.size());
  return view;
}

// Each of 0..element_count-1 with probability density.
inline std::vector<uint16_t> RandomIndexes(RandomStream& random, uint32_t element_count,
                                           double density) {
  std::vector<uint16_t> indexes;
  for (uint32_t i = 0; i < element_count; ++i) {
    if (random.NextUnit() < density) indexes.push_back(static_cast<uint16_t>(i));
  }
  return indexes;
}

inline std::vector<float> RandomValues(RandomStream& random, size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.NextNormal());
  return values;
}

}  // namespace weir::wire
