// Makes a server's parameters again what they were: every step of its log, in their order, on those
// that it began with; and with them what it knew of its workers.
//
// Place in the life of a batch: none; when a server is started anew.
// Thread rule: one thread, while nobody else posts to the shard.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/cluster/membership.h"
#include "common/cluster/saved_parts.h"
#include "common/log/reader.h"
#include "common/proto/log.pb.h"
#include "server/shard/load_progress.h"
#include "server/shard/shard.h"

namespace weir::server {

struct RecoveredWorker {
  uint64_t incarnation = 0;
  v1::Push last_push;  // that was taken of it; sequence 0: none
  uint64_t last_step = 0;
  std::string failure;  // of a push of this process, or empty
};

struct RecoveredAgreement {
  std::vector<uint32_t> members;
  v1::Agreement agreement;
  transport::Message frames;  // behind an empty header
  std::shared_ptr<const AgreedElements> elements;
};

struct Recovered {
  uint64_t next_number = 1;  // that the log goes on with
  uint64_t torn_bytes = 0;
  uint64_t run = 0;               // 0: not known
  std::optional<bool> in_stages;  // unset: no worker was there
  std::map<cluster::Seat, RecoveredWorker> workers;
  uint64_t last_round = 0;                            // whose pushes are a step
  std::map<uint64_t, RecoveredAgreement> agreements;  // of rounds behind it
  cluster::PartMap parts;                             // of the coordinator
};

// progress: hears of each byte; Interrupted where it is cancelled. InvalidData where the log is
// damaged, or not of this shard.
Result<Recovered> Replay(log::LogReader reader, Shard* shard, LoadProgress* progress);

}  // namespace weir::server
