#include "common/session/header_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "common/session/client_session.h"
#include "common/session/run_identity.h"

namespace weir::session {
namespace {

using testing::HasSubstr;

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
  EXPECT_FALSE(ParseHeader({}).ok());
  EXPECT_FALSE(ParseHeader({{transport::Part()}}).ok());
  EXPECT_FALSE(ParseHeader({{transport::Part(Bytes{0xff, 0xff, 0x01})}}).ok());
}

transport::Message Of(Bytes header) { return {{transport::Part(std::move(header))}}; }

Bytes BytesOf(const v1::Header& header) {
  const transport::Message message = MakeMessage(header);
  const ByteSpan bytes = message.parts[0].span();
  return {bytes.begin(), bytes.end()};
}

v1::RunIdentity Identity() {
  v1::Config config;
  config.mutable_data()->mutable_synthetic();
  config::FillDefaults(&config);
  return MakeRunIdentity(config, 2);
}

// Of those that other releases would say something about, too.
std::vector<v1::Header> SomeHeaders() {
  std::vector<v1::Header> headers(6);
  headers[1].mutable_push()->set_sequence(7);
  headers[1].mutable_push()->set_lease(3);
  *headers[2].mutable_join()->mutable_identity() = Identity();
  *headers[3].mutable_hello()->mutable_identity() = Identity();
  *headers[4].mutable_shard_report()->mutable_identity() = Identity();
  headers[5].mutable_refusal()->set_reason("no");
  return headers;
}

TEST(HeaderMessageTest, NoHeaderOfWhichABitWasFlippedIsTaken) {
  for (const v1::Header& header : SomeHeaders()) {
    const Bytes bytes = BytesOf(header);
    ASSERT_TRUE(ParseHeader(Of(bytes)).ok());
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      Bytes damaged = bytes;
      damaged[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
      const auto parsed = ParseHeader(Of(damaged));
      EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidData)
          << "bit " << bit << " of " << header.ShortDebugString() << ": " << parsed.status();
    }
  }
}

TEST(HeaderMessageTest, NoHeaderIsTakenThatWasCutShortOrHasMore) {
  for (const v1::Header& header : SomeHeaders()) {
    Bytes bytes = BytesOf(header);
    bytes.push_back(0);
    EXPECT_FALSE(ParseHeader(Of(bytes)).ok());
    bytes.pop_back();
    while (!bytes.empty()) {
      bytes.pop_back();
      EXPECT_FALSE(ParseHeader(Of(bytes)).ok()) << bytes.size();
    }
  }
}

// As an earlier release writes it: without a checksum.
transport::Message OfEarlierRelease(const v1::Header& header) {
  Bytes bytes(header.ByteSizeLong());
  CHECK(header.SerializeToArray(bytes.data(), static_cast<int>(bytes.size())));
  return Of(std::move(bytes));
}

TEST(HeaderMessageTest, AnEarlierReleaseIsToldFromDamage) {
  v1::Header hello;
  *hello.mutable_hello()->mutable_identity() = Identity();
  hello.mutable_hello()->mutable_identity()->set_protocol_version(11);
  hello.mutable_hello()->mutable_identity()->clear_checksum();
  const Status of_hello = ParseHeader(OfEarlierRelease(hello)).status();
  EXPECT_EQ(of_hello.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(of_hello.message(), HasSubstr(StrCat("version 11 meets ", kProtocolVersion)));

  v1::Header refusal;
  refusal.mutable_refusal()->set_reason("protocol version 12 meets 11");
  const Status of_refusal = ParseHeader(OfEarlierRelease(refusal)).status();
  EXPECT_EQ(of_refusal.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(of_refusal.message(), HasSubstr("it says: protocol version 12 meets 11"));

  v1::Header push;
  push.mutable_push()->set_sequence(1);
  EXPECT_EQ(ParseHeader(OfEarlierRelease(push)).status().code(), StatusCode::kInvalidData);
}

TEST(HeaderMessageTest, AnEarlierReleaseReadsWhatWeSay) {
  v1::Header refusal;
  refusal.mutable_refusal()->set_reason("protocol version 11 meets 12");
  const Bytes bytes = BytesOf(refusal);
  v1::Header read;
  ASSERT_TRUE(read.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  EXPECT_EQ(read.refusal().reason(), refusal.refusal().reason());
}

// A header of so many bytes, its checksum included.
transport::Message HeaderOf(size_t byte_count) {
  constexpr size_t kBeside = 2 * (1 + 4) + 10;  // keys, and lengths from 2 MiB; the checksum
  v1::Header header;
  header.mutable_refusal()->set_reason(std::string(byte_count - kBeside, 'a'));
  transport::Message message = MakeMessage(header);
  CHECK_EQ(message.parts[0].size(), byte_count);
  return message;
}

TEST(HeaderMessageTest, AHeaderAboveTheLimitIsNothing) {
  EXPECT_TRUE(ParseHeader(HeaderOf(kMaxHeaderBytes)).ok());
  EXPECT_FALSE(ParseHeader(HeaderOf(kMaxHeaderBytes + 1)).ok());
}

}  // namespace
}  // namespace weir::session
