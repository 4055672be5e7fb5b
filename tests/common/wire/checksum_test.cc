#include "common/wire/checksum.h"

#include <gtest/gtest.h>

namespace weir::wire {
namespace {

TEST(Checksum, IsThatOfAllBytesHoweverTheyCome) {
  Bytes bytes(1000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i);
  Checksum at_once, in_pieces;
  at_once.Append(bytes);
  size_t begin = 0;
  for (const size_t end : {1u, 64u, 64u, 700u, 1000u}) {
    in_pieces.Append(ByteSpan(bytes).subspan(begin, end - begin));
    begin = end;
  }
  EXPECT_EQ(in_pieces.value(), at_once.value());
  in_pieces.Append(ByteSpan(bytes).first(1));
  EXPECT_NE(in_pieces.value(), at_once.value());
}

// As the reference implementation has it.
TEST(Checksum, OfNothingIsXxh3s) { EXPECT_EQ(Checksum().value(), 0x2d06800538d394c2u); }

}  // namespace
}  // namespace weir::wire
