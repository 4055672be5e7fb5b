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

}  // namespace
}  // namespace weir::session
