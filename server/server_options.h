// What a server is told beside its config.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/environment.h"
#include "common/base/status.h"
#include "common/proto/learned.pb.h"
#include "common/proto/saved_model.pb.h"
#include "common/saved_model/checkpoint_folder.h"
#include "server/log/server_life.h"
#include "server/shard/load_progress.h"
#include "server/shard/shard.h"

namespace weir::server {

struct ServerOptions {
  Environment environment = {};
  std::vector<std::string> addresses = {};  // of all servers, for messages
  uint64_t warm_start = 0;                  // id of the saved model to go on from; 0: none
  // Gives the shard that model's parameters, in the background, and adds load_bytes to the
  // progress on the way; returns early when it is cancelled. Empty: they are the initial ones.
  std::function<Status(Shard* shard, LoadProgress* progress)> load = {};
  uint64_t load_bytes = 0;
  v1::RuleStarts rule_starts = {};  // what the run's update rules count from
  // So long it does not receive: of parameters that are there by then nobody hears that they load.
  int64_t prompt_ms = 200;
  std::string save = {};               // where servers save the model; empty: they do not
  std::string checkpoints = {};        // the folder of the run's checkpoints; empty: there are none
  uint64_t lineage = 0;                // of the checkpoint to go on from
  saved_model::RunParts resumed = {};  // of the checkpoint to go on from; none: it is another run
  SnapshotRule snapshots = {};
  std::shared_ptr<DataFolder> data_folder = {};    // for its log; null: it has none
  std::optional<v1::LearnedColumns> learned = {};  // of the saved model to go on from
};

}  // namespace weir::server
