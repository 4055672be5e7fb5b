// A worker as the dispatcher knows it: its session, and what of it is under way.
//
// Place in the life of a batch: push -> **number** -> strands -> answer.
// Thread rule: I/O thread only.
#pragma once

#include <cstdint>
#include <string>

#include "common/cluster/membership.h"
#include "common/session/damage.h"
#include "common/session/server_session.h"
#include "server/begun_pushes.h"
#include "server/durable_sequence.h"
#include "server/shard/pending.h"

namespace weir::server {

struct DispatchedWorker {
  explicit DispatchedWorker(cluster::Seat s) : seat(s), session(s.trainer, s.stage) {}

  const cluster::Seat seat;
  session::ServerSession session;
  StageId stage;
  BegunPushes begun;
  DurableSequence durable;
  uint64_t greeting = 0;  // the record of its process's hello, until which it hears nothing
  session::DamageBook damage;
  v1::Push last_push;      // that was taken
  uint64_t last_step = 0;  // of its stage, that it was
  int tasks_in_flight = 0;
  uint64_t connection_count = 0;  // so far
  int pulls_in_flight = 0;        // of the last of them
  // Of the last push that was refused when its frames were applied: why, and whose it was.
  std::string failure;
  uint64_t failed_incarnation = 0;
};

}  // namespace weir::server
