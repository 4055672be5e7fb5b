#include "server/begun_pushes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weir::server {
namespace {

using testing::HasSubstr;

transport::Message Message(uint8_t byte) { return {{transport::Part(Bytes{byte})}}; }
uint8_t ByteOf(const transport::Message& message) { return message.parts[0].span()[0]; }

v1::PushPart Part(uint64_t name, uint32_t number) {
  v1::PushPart part;
  part.set_name(name);
  part.set_number(number);
  return part;
}

v1::Push PushOf(uint64_t name, uint32_t part_count) {
  v1::Push push;
  push.set_sequence(4);
  push.set_parts_name(name);
  push.set_part_count(part_count);
  return push;
}

TEST(BegunPushes, GiveAllMessagesOfAPushInTheirOrder) {
  BegunPushes begun;
  ASSERT_TRUE(begun.Add(Part(7, 0), Message(1)).ok());
  ASSERT_TRUE(begun.Add(Part(8, 0), Message(9)).ok());
  ASSERT_TRUE(begun.Add(Part(7, 1), Message(2)).ok());
  const auto messages = begun.Take(PushOf(7, 2), Message(3));
  ASSERT_TRUE(messages.ok());
  ASSERT_EQ(messages->size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(ByteOf((*messages)[i]), i + 1);
  EXPECT_EQ(begun.Take(PushOf(8, 1), Message(0))->size(), 2u);
}

TEST(BegunPushes, OneWithoutPartsIsItself) {
  EXPECT_EQ(BegunPushes().Take(PushOf(0, 0), Message(3))->size(), 1u);
}

TEST(BegunPushes, APartThatComesTwiceCountsOnce) {
  BegunPushes begun;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(begun.Add(Part(7, 0), Message(1)).ok());
  EXPECT_EQ(begun.Take(PushOf(7, 1), Message(3))->size(), 2u);
}

TEST(BegunPushes, SayThatPartsWereLost) {
  BegunPushes begun;
  ASSERT_TRUE(begun.Add(Part(7, 1), Message(1)).ok());
  const auto messages = begun.Take(PushOf(7, 2), Message(3));
  EXPECT_THAT(messages.status().message(), HasSubstr("of push 4 0 of 2 parts have come"));
}

TEST(BegunPushes, HaveABound) {
  BegunPushes begun(100);
  Status status;
  for (uint64_t name = 0; name < 100 && status.ok(); ++name) {
    status = begun.Add(Part(name, 0), Message(1));
  }
  EXPECT_THAT(status.message(), HasSubstr("too much of pushes that do not end"));
}

TEST(BegunPushes, KeepNothingOfPushesWhoseFirstPartDidNotCome) {
  BegunPushes begun;
  for (uint64_t name = 0; name < 10; ++name) ASSERT_TRUE(begun.Add(Part(name, 1), Message(1)).ok());
  EXPECT_EQ(begun.push_count(), 0u);
}

TEST(BegunPushes, BytesOfAPushThatHasEndedCountNoMore) {
  BegunPushes begun(10);
  for (uint64_t name = 1; name < 100; ++name) {
    ASSERT_TRUE(begun.Add(Part(name, 0), Message(1)).ok());
    ASSERT_TRUE(begun.Take(PushOf(name, 1), Message(3)).ok());
  }
}

}  // namespace
}  // namespace weir::server
