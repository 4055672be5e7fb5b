// What a server with a coordinator elsewhere tells it, and how long it waits for it.
//
// Place in the life of a batch: none.
// Thread rule: one thread; what the options call is for any. The server outlives the reporter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/proto/config.pb.h"
#include "common/transport/transport.h"
#include "server/server.h"
#include "server/shard_reporter.h"

namespace weir::server {

// address: of server 0. transport: the reporter's.
std::shared_ptr<ShardReporter> StartReports(const v1::ClusterConfig& cluster,
                                            const std::string& address, int32_t shard,
                                            std::unique_ptr<transport::ClientTransport> transport,
                                            Server* server);

}  // namespace weir::server
