// What the tests of common/wire share: frames out of parts, frames with a checksum made good again
// after damage, index lists at a density.
#pragma once

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/random.h"
#include "common/wire/frame.h"

namespace weir::wire {

inline constexpr size_t kCountOffset = 16;
inline constexpr size_t kLengthOffset = 20;
inline constexpr size_t kChecksumOffset = 24;

inline void PutU32(Bytes* bytes, size_t offset, uint32_t value) {
  std::memcpy(bytes->data() + offset, &value, sizeof(value));
}

// Makes a lone frame's checksum right, as FORMAT.md describes it.
inline void Reseal(Bytes* frame) {
  std::memset(frame->data() + kChecksumOffset, 0, 8);
  const uint64_t checksum = XXH3_64bits(frame->data(), frame->size());
  std::memcpy(frame->data() + kChecksumOffset, &checksum, sizeof(checksum));
}

// A sealed frame with any count, true or not.
inline Bytes MakeFrame(const FrameHeader& header, const Bytes& payload) {
  Bytes frame;
  const size_t begin = OpenFrame(&frame);
  frame.insert(frame.end(), payload.begin(), payload.end());
  FrameHeader honest = header;
  honest.count = 0;
  CloseFrame(&frame, begin, honest);
  PutU32(&frame, kCountOffset, header.count);
  Reseal(&frame);
  return frame;
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
  FrameView view = {.header = header, .payload = payload};
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
