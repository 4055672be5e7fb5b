// A worker's way into the run: it asks shard 0 for its place until it has one.
//
// Place in the life of a batch: before it.
// Thread rule: the caller's thread, before the link's I/O thread starts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/environment.h"
#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "common/transport/transport.h"
#include "worker/link/wire_meter.h"

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
  Environment environment = {};
};

// Fails if the coordinator refuses for good (TooLate when the run has ended well), is silent for
// the timeout, or as soon as failure() does. Servers that load are waited for as long as they
// progress, with a line in the log now and then. A seat that another process holds is waited for
// until that one would have lost it, had it been silent since.
Result<v1::JoinReply> JoinRun(const JoinOptions& options, transport::ConnectionId coordinator,
                              transport::ClientTransport* transport, WireMeter* meter,
                              const std::function<Status()>& failure);

}  // namespace weir::worker
