#include "server/reports_of.h"

#include <utility>

#include "server/coordinator/shard_book.h"

namespace weir::server {
namespace {

ShardReporterOptions ReportsOf(const v1::ClusterConfig& cluster, const std::string& address,
                               int32_t shard, Server* server) {
  ShardReporterOptions options;
  options.coordinator_address = address;
  options.identity = server->identity();
  options.shard_index = static_cast<uint32_t>(shard);
  options.nonce = server->life().nonce();
  options.first_timeout_ms = cluster.connect_timeout_ms();
  options.timeout_ms = ServerPatienceMs(cluster);
  options.loading = [server] { return server->loading(); };
  options.news = &server->news();
  options.bounded = &server->bounded();
  ReportSaving(server->saving(), &options);
  server->checkpoints().Report(&options);
  return options;
}

}  // namespace

std::shared_ptr<ShardReporter> StartReports(const v1::ClusterConfig& cluster,
                                            const std::string& address, int32_t shard,
                                            std::unique_ptr<transport::ClientTransport> transport,
                                            Server* server) {
  auto reporter = std::make_shared<ShardReporter>(
      ReportsOf(cluster, address, shard, server), std::move(transport),
      [server](uint64_t run) { server->Serve(run); },
      [server](Status status) { server->End(std::move(status)); });
  reporter->Start();
  return reporter;
}

}  // namespace weir::server
