#include "common/session/speaker.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weir::session {
namespace {

template <typename Body>
void SetWorker(Body* body, uint32_t trainer, uint32_t stage) {
  body->set_trainer(trainer);
  body->set_stage(stage);
}

// One of each kind that says who it is from, all as trainer 3 stage 1.
std::vector<v1::Header> MessagesOf(uint32_t trainer, uint32_t stage) {
  std::vector<v1::Header> headers(7);
  SetWorker(headers[0].mutable_join(), trainer, stage);
  SetWorker(headers[1].mutable_hello(), trainer, stage);
  SetWorker(headers[2].mutable_heartbeat()->mutable_speaker(), trainer, stage);
  SetWorker(headers[3].mutable_report()->mutable_speaker(), trainer, stage);
  SetWorker(headers[4].mutable_work_request()->mutable_speaker(), trainer, stage);
  SetWorker(headers[5].mutable_leave()->mutable_speaker(), trainer, stage);
  headers[6].mutable_stage_forward()->set_trainer(trainer);
  headers[6].mutable_stage_forward()->set_from_stage(stage);
  return headers;
}

TEST(Speaker, EachSpeaksForItself) {
  for (const v1::Header& header : MessagesOf(3, 1)) {
    EXPECT_TRUE(CheckSpeaker("trainer 3 stage 1", header).ok()) << header.DebugString();
  }
  for (const v1::Header& header : MessagesOf(3, 0)) {
    EXPECT_TRUE(CheckSpeaker("trainer 3", header).ok()) << header.DebugString();
  }
}

TEST(Speaker, AndForNobodyElse) {
  for (const char* other : {"trainer 3", "trainer 3 stage 2", "trainer 1 stage 1", "server 3",
                            "server 0", "trainer 31"}) {
    for (const v1::Header& header : MessagesOf(3, 1)) {
      EXPECT_FALSE(CheckSpeaker(other, header).ok()) << other << " " << header.DebugString();
    }
  }
}

TEST(Speaker, AServerReportsForItself) {
  v1::Header header;
  header.mutable_shard_report()->set_shard(2);
  EXPECT_TRUE(CheckSpeaker("server 2", header).ok());
  EXPECT_FALSE(CheckSpeaker("server 1", header).ok());
  const Status status = CheckSpeaker("trainer 2", header);
  EXPECT_EQ(status.message(), "who has the key of trainer 2 may not speak for server 2");
}

TEST(Speaker, WhereNobodyProvesAnythingAnybodySpeaks) {
  for (const v1::Header& header : MessagesOf(3, 1)) EXPECT_TRUE(CheckSpeaker("", header).ok());
}

TEST(Speaker, WhatSaysNobodyIsOfItsConnection) {
  v1::Header header;
  header.mutable_push();
  EXPECT_TRUE(CheckSpeaker("trainer 3", header).ok());
}

// Who speaks is looked for by name here: a message that somebody adds to the protocol with a
// speaker in it has to be, too.
TEST(Speaker, KnowsAllMessagesWithASpeaker) {
  const auto* const header = v1::Header::descriptor();
  for (int i = 0; i < header->field_count(); ++i) {
    const auto* const body = header->field(i)->message_type();
    if (body == nullptr || body->FindFieldByName("speaker") == nullptr) continue;
    v1::Header message;
    message.GetReflection()->MutableMessage(&message, header->field(i));
    EXPECT_FALSE(CheckSpeaker("trainer 7", message).ok()) << body->name();
  }
}

}  // namespace
}  // namespace weir::session
