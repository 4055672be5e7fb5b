#include "common/session/damage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/session/header_message.h"
#include "common/wire/row_frame.h"

namespace weir::session {
namespace {

using testing::AllOf;
using testing::HasSubstr;

v1::Header PushHeader(uint64_t sequence) {
  v1::Header header;
  header.mutable_push()->set_sequence(sequence);
  return header;
}

v1::Header PullHeader(uint64_t id) {
  v1::Header header;
  header.mutable_row_pull()->set_request_id(id);
  return header;
}

// Two parts, of two frames and of one.
Body SomeFrames() {
  std::vector<Bytes> parts(2);
  wire::AppendRowIds(&parts[0], 0, 4, std::vector<uint64_t>{1, 2, 9});
  wire::AppendRowIds(&parts[0], 1, 4, std::vector<uint64_t>{70});
  wire::AppendRowIds(&parts[1], 2, 4, std::vector<uint64_t>{3, 5});
  return ToBody(std::move(parts));
}

TEST(Damage, OfNoBitOfAFrameGoesUnnoticed) {
  const v1::Header header = PushHeader(7);
  const Body whole = SomeFrames();
  ASSERT_TRUE(CheckFrames(header, MakeMessage(header, whole)).ok());
  for (size_t part = 0; part < whole.size(); ++part) {
    for (size_t bit = 0; bit < 8 * whole[part].size(); ++bit) {
      Bytes bytes(whole[part].span().begin(), whole[part].span().end());
      bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
      Body damaged = whole;
      damaged[part] = transport::Part(std::move(bytes));
      const Status status = CheckFrames(header, MakeMessage(header, damaged));
      EXPECT_EQ(status.code(), StatusCode::kInvalidData) << "part " << part << " bit " << bit;
    }
  }
}

TEST(Damage, IsNamedWithItsMessageAndPlace) {
  const v1::Header header = PushHeader(7);
  Body damaged = SomeFrames();
  damaged[1] = transport::Part(Bytes{'w', 1, 3});
  EXPECT_THAT(CheckFrames(header, MakeMessage(header, damaged)).message(),
              AllOf(HasSubstr("push 7 came damaged"), HasSubstr("part 2: frame at byte 0")));
}

TEST(Damage, WhatIsBehindAProbeIsNobodys) {
  v1::Header probe;
  probe.mutable_probe();
  EXPECT_TRUE(CheckFrames(probe, MakeMessage(probe, ToBody({Bytes(100)}))).ok());
}

TEST(Damage, OfOneMessageAgainAndAgainIsTooMuch) {
  DamageBook book;
  EXPECT_FALSE(book.Add(PushHeader(7)));
  EXPECT_FALSE(book.Add(PushHeader(7)));
  EXPECT_TRUE(book.Add(PushHeader(7)));
}

TEST(Damage, OfOneMessageAfterAnotherIsBorne) {
  DamageBook book;
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_FALSE(book.Add(PushHeader(i)));
    EXPECT_FALSE(book.Add(PushHeader(i)));
  }
}

TEST(Damage, IsCountedOfEachKindForItself) {
  DamageBook book;
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(book.Add(PushHeader(7)));
    EXPECT_FALSE(book.Add(PullHeader(7)));
  }
  EXPECT_TRUE(book.Add(PullHeader(7)));
  EXPECT_TRUE(book.Add(PushHeader(7)));
}

}  // namespace
}  // namespace weir::session
