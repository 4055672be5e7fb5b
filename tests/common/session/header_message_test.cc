#include "common/session/header_message.h"

#include <gtest/gtest.h>

namespace weir::session {
namespace {

TEST(HeaderMessageTest, HeaderAndBodyComeBack) {
  v1::Header header;
  header.mutable_push()->set_sequence(7);
  const transport::Message message = MakeMessage(header, ToBody({Bytes(3), Bytes(), Bytes(5)}));
  ASSERT_EQ(message.parts.size(), 3u) << "an empty part is not worth sending";
  EXPECT_EQ(ParseHeader(message)->push().sequence(), 7u);
  const Body body = BodyOf(message);
  ASSERT_EQ(body.size(), 2u);
  EXPECT_EQ(body[0].size(), 3u);
  EXPECT_EQ(body[1].size(), 5u);
}

TEST(HeaderMessageTest, WhatIsNoHeaderIsNothing) {
  EXPECT_FALSE(ParseHeader({}));
  EXPECT_FALSE(ParseHeader({{transport::Part(Bytes{0xff, 0xff, 0x01})}}));
}

// A header whose unknown field makes it so large.
transport::Message HeaderOf(size_t byte_count) {
  constexpr size_t kKeyBytes = 2, kLengthBytes = 4;  // of field 1000; of lengths from 2 MiB
  size_t length = byte_count - kKeyBytes - kLengthBytes;
  Bytes bytes = {0xc2, 0x3e};
  for (size_t i = 0; i < kLengthBytes; ++i, length >>= 7) {
    bytes.push_back(static_cast<uint8_t>((length & 0x7f) | (i + 1 < kLengthBytes ? 0x80 : 0)));
  }
  bytes.resize(byte_count);
  return {{transport::Part(std::move(bytes))}};
}

TEST(HeaderMessageTest, AHeaderAboveTheLimitIsNothing) {
  EXPECT_TRUE(ParseHeader(HeaderOf(kMaxHeaderBytes)));
  EXPECT_FALSE(ParseHeader(HeaderOf(kMaxHeaderBytes + 1)));
}

}  // namespace
}  // namespace weir::session
