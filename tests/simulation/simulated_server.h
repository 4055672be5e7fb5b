// A server as weir-server has it, with the reporter of its shard and a disk, in lives that end.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "common/session/run_identity.h"
#include "server/coordinator/shard_book.h"
#include "server/server.h"
#include "server/shard_reporter.h"
#include "tests/simulation/simulated_process.h"

namespace weir::simulation {

class SimulatedServer final : public SimulatedProcess {
 public:
  SimulatedServer(Scene* scene, uint32_t shard)
      : SimulatedProcess(scene, StrCat("server ", shard)), shard_(shard) {}
  ~SimulatedServer() override { server_.reset(); }

  // How it has ended by itself.
  const std::optional<Status>& outcome() const { return outcome_; }
  bool is_serving() const { return is_alive() && server_->is_loaded() && !outcome_; }
  server::Shard& shard() { return server_->shard(); }

 protected:
  void Start() override {
    const v1::Config& config = scene_.config;
    const auto identity = session::MakeRunIdentity(config, scene_.mix.servers, 0);
    auto folder = server::DataFolder::Open(files_, "/data", identity, shard_);
    if (!folder.ok()) return scene_.Violate(folder.status().message());
    server::ServerOptions options{
        .environment = environment(),
        .prompt_ms = 0,
        .snapshots = {.least_log_bytes = scene_.mix.snapshot_bytes, .least_share = 0},
        .data_folder = *std::move(folder)};
    auto transport = scene_.network.MakeServer();
    CHECK(transport->Bind(scene_.addresses[shard_]).ok());
    server_ = std::make_unique<server::Server>(config, scene_.mix.servers, shard_,
                                               std::move(transport), std::move(options));
    if (shard_ > 0) StartReporter();
  }

  void Kill(RandomStream* random) override {
    if (scene_.mix.machines_end) {
      files_.EndMachine(random);
    } else {
      files_.EndProcess();
    }
    Silence();
    ForgetTransport();
    reporter_.reset();
    server_.reset();
  }

  void Step() override {
    if (!outcome_ && server_ != nullptr) {
      outcome_ = server_->Step(0);
      if (outcome_) End();
    }
    executor_->RunOne();
    if (reporter_) {
      HealIfDue();
      reporter_->Step(0);
    }
  }

 private:
  void StartReporter() {
    const v1::ClusterConfig& cluster = scene_.config.cluster();
    server::ShardReporterOptions options{.environment = environment(),
                                         .coordinator_address = scene_.addresses[0],
                                         .identity = server_->identity(),
                                         .shard_index = shard_,
                                         .nonce = server_->life().nonce(),
                                         .first_timeout_ms = cluster.connect_timeout_ms(),
                                         .timeout_ms = server::ServerPatienceMs(cluster),
                                         .loading = [this] { return server_->loading(); },
                                         .departures = &server_->departures()};
    reporter_ = std::make_unique<server::ShardReporter>(
        std::move(options), MakeClient(50 + shard_, [](const auto&, const auto&) {}),
        [this](uint64_t run) { server_->Serve(run); },
        [this](Status status) { server_->End(std::move(status)); });
  }
  void End() {
    scene_.Trace(20 + shard_);
    scene_.Tell(StrCat(name_, " has ended"));
    if (!outcome_->ok()) return scene_.Violate(StrCat(name_, " ends: ", outcome_->message()));
    const Status cleared = server_->ClearLog();
    if (!cleared.ok()) scene_.Violate(cleared.message());
  }

  const uint32_t shard_;
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<server::ShardReporter> reporter_;
  std::optional<Status> outcome_;
};

}  // namespace weir::simulation
