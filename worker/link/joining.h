// A worker's way into the run: it asks shard 0 for its place until it has one. A state machine:
// events in, what is to be sent out; no thread, clock or socket inside.
//
// Place in the life of a batch: before it.
// Thread rule: owner thread only (the link's I/O thread).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "common/session/loading.h"
#include "worker/link/loading_notice.h"

namespace weir::worker {

struct JoinOptions {
  std::string coordinator_name = {};  // for messages
  v1::RunIdentity identity = {};
  uint32_t trainer = 0;
  uint32_t stage = 0;
  uint32_t stage_count = 1;       // 1: the whole model
  std::string link_address = {};  // where the stage before finds this one; empty: there is none
  bool saves = false;
  bool stays = false;
  bool awaits_model = false;
  std::vector<uint64_t> file_bytes = {};  // data::FileBytes
  uint32_t train_files = 0;               // how many of them are to train on
  // Of time in which this process runs; begins anew whenever the servers have loaded more.
  int64_t timeout_ms = 30000;
  int64_t member_timeout_ms = 15000;  // a seat whose holder is silent is free then
  uint64_t nonce = 0;                 // tells this process from another that wants the same seat
};

class Joining {
 public:
  Joining(JoinOptions options, int64_t now_ms);

  // Call often. The request, when it is to be sent, lost or not, once more. Fails when nothing new
  // was heard for the timeout. Servers that load are waited for as long as they progress, with a
  // line in the log now and then; a seat that another process holds until that one would have lost
  // it, had it been silent since.
  Result<std::optional<v1::Header>> Tick(int64_t now_ms);

  // Of shard 0. The place, if this gives it. Fails when it is refused for good; TooLate when the
  // run has ended well.
  Result<std::optional<v1::JoinReply>> OnMessage(const v1::Header& header, int64_t now_ms);
  // Where it was refused for having begun with something else than the run: the id of what that
  // has begun with, 0: with nothing.
  std::optional<uint64_t> begun_with() const { return begun_with_; }

 private:
  Status OnRefusal(const v1::Refusal& refusal, int64_t now_ms);
  void AwaitSeat(int64_t wait_ms, int64_t now_ms);

  const JoinOptions options_;
  const int64_t started_ms_;
  int64_t deadline_ms_;
  int64_t next_ms_;                      // when the request is due
  std::optional<int64_t> seat_free_ms_;  // if its holder is not heard of again
  int64_t seat_heard_ms_ = 0;            // when that changed last
  std::optional<uint64_t> begun_with_;
  std::string reason_ =
      "is weir-server running there, are host and port right and open, and do both ends have "
      "the same keys?";
  session::LoadingWatch watch_;
  LoadingNotice notice_;
};

}  // namespace weir::worker
