// What a server begins with that is not its config's: a saved model, or a checkpoint of a run.
//
// Place in the life of a batch: before the first.
// Thread rule: one thread.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/proto/config.pb.h"
#include "server/server_options.h"

namespace weir::server {

// Folders as flags name them; empty: there is none.
struct Beginning {
  std::string warm_start, resume;  // one of them at most
  std::string checkpoints, data;
};

// With neither model nor checkpoint the parameters are the initial ones. config: outlives the
// options. Where it was in its data tells nothing of others, so a checkpoint of a run on other data
// is InvalidConfig; what cannot be read is said with its name.
Status BeginWith(const Beginning& beginning, const v1::Config& config, ServerOptions* options);

}  // namespace weir::server
