// What a shard is told beside its config.
#pragma once

#include "common/base/executor.h"
#include "server/shard/load_progress.h"

namespace weir::server {

struct ShardOptions {
  // Hears of each piece that has its initial values; where it is cancelled, the shard is of no use.
  LoadProgress* progress = nullptr;
  bool awaits_load = false;  // there are no initial values, because Load comes next
  Executor& executor = Executor::Threads();
};

}  // namespace weir::server
