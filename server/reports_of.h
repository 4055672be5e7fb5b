// What a server with a coordinator elsewhere tells it, and how long it waits for it.
//
// Place in the life of a batch: none.
// Thread rule: one thread; what the options call is for any. The server outlives the reporter.
#pragma once

#include <cstdint>
#include <string>

#include "common/proto/config.pb.h"
#include "server/server.h"
#include "server/shard_reporter.h"

namespace weir::server {

// address: of server 0.
ShardReporterOptions ReportsOf(const v1::ClusterConfig& cluster, const std::string& address,
                               int32_t shard, Server* server);

}  // namespace weir::server
