// A whole run in one process: servers and workers as threads over in-process queues, with faults on
// the workers' connections if wanted. What a test looks at afterwards, the servers' pieces and
// rows, is kept until the cluster goes.
//
// Thread rule: one test thread.
#pragma once

#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/proto/report.pb.h"
#include "common/transport/loopback.h"
#include "server/server.h"
#include "server/shard_reporter.h"
#include "tests/support/faulty_transport.h"
#include "worker/client/server_client.h"
#include "worker/data/reader.h"
#include "worker/worker.h"

namespace weir::test {

struct ClusterOptions {
  uint32_t servers = 2;
  uint32_t trainers = 2;
  int threads = 1;
  uint32_t stages = 1;  // workers of a trainer; more than 1: one for each stage of the model
  transport::FaultPlan link_faults = {};  // of every link between stages
  // Instead of the cluster's config, for one stage of trainer 0.
  std::optional<std::pair<uint32_t, v1::Config>> odd_stage = {};
  std::optional<uint32_t> odd_rows_stage = {};  // of trainer 0: it reads other rows
  std::optional<uint32_t> missing_stage = {};   // of trainer 0: nobody starts it
  transport::FaultPlan faults;                  // of every worker; its seed is varied by trainer
  std::string save = {};                        // where servers save the model; empty: they do not
  // Of a trainer's stage; empty: the CPU's.
  std::function<kernels::Compute(uint32_t trainer, uint32_t stage)> compute = {};
  // What trainers of one stage train with, given each one's client in their order; empty: that.
  std::function<worker::ParameterClient*(worker::ServerClient* client)> around = {};
};

// Texts laid over each other, with defaults filled in. Dies on a config that is not valid.
v1::Config MakeConfig(const std::vector<std::string>& texts);

class LoopbackCluster {
 public:
  LoopbackCluster(v1::Config config, const ClusterOptions& options);
  ~LoopbackCluster();

  // Starts everything and waits until all have ended. Statuses: servers first, then trainers.
  void Run();
  // In pieces, for tests that interfere.
  void Start();
  void Wait();
  // For tests that play the workers: only the servers, a worker's client that is not connected yet,
  // and the servers' end.
  void StartServers();
  std::unique_ptr<worker::ServerClient> MakeClient(uint32_t trainer);
  void StopServers();
  // Ends a server without a farewell, as a crash does, and starts a new one at its address.
  void RestartServer(uint32_t index);

  const std::vector<Status>& server_statuses() const { return server_statuses_; }
  const std::vector<Status>& trainer_statuses() const { return trainer_statuses_; }
  // Of trainer 0. Statuses of its stages lie one after the other.
  const v1::RunReport& report() const { return report_; }

  const ModelLayout& layout() const { return layout_; }
  // Dense parameters as the servers hold them, flat.
  std::vector<float> ServerValues();
  // Pushes that each server has taken.
  std::vector<uint64_t> ServerVersions() const;
  // Of all workers' readers.
  int64_t passed_lines() const;
  // Hash of all rows with their state, whatever the order of their creation.
  uint64_t RowsHash();

 private:
  struct Trainer;

  kernels::Compute ComputeOf(uint32_t trainer, uint32_t stage) const;
  void MakeStage(uint32_t trainer, uint32_t stage);
  Status RunStage(uint32_t trainer, uint32_t stage, Trainer* parts);

  std::string Address(uint32_t server) const { return "inproc://shard-" + std::to_string(server); }
  void StartServer(uint32_t index);

  const v1::Config config_;
  const ClusterOptions options_;
  const ModelLayout layout_;
  transport::LoopbackNetwork network_;
  std::vector<std::unique_ptr<server::Server>> servers_;
  std::vector<std::unique_ptr<server::ShardReporter>> reporters_;
  std::vector<std::thread> server_threads_;
  std::vector<std::unique_ptr<Trainer>> trainers_;
  std::optional<std::latch> all_joined_;  // of trainers of one stage
  std::vector<Status> server_statuses_;
  std::vector<Status> trainer_statuses_;
  v1::RunReport report_;
};

}  // namespace weir::test
