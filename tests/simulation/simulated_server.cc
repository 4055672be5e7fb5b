#include "tests/simulation/simulated_server.h"

#include "common/session/run_identity.h"
#include "server/coordinator/shard_book.h"
#include "tests/simulation/silent_server.h"

namespace weir::simulation {

void SimulatedServer::Start() {
  HealDiskIfDue();
  const v1::Config& config = scene_.config;
  const auto identity = session::MakeRunIdentity(config, scene_.mix.servers, 0);
  auto folder = server::DataFolder::Open(files_, "/data", identity, shard_);
  if (has_crashed()) return;
  if (!folder.ok()) return EndBecause(folder.status().message());
  server::ServerOptions options{
      .environment = OwnEnvironment(),
      .prompt_ms = 0,
      .snapshots = {.least_log_bytes = scene_.mix.snapshot_bytes, .least_share = 0},
      .data_folder = *std::move(folder)};
  auto transport = MakeTransport();
  CHECK(transport->Bind(scene_.addresses[shard_]).ok());
  server_ = std::make_unique<server::Server>(config, scene_.mix.servers, shard_,
                                             std::move(transport), std::move(options));
  if (shard_ > 0 && !was_over_) StartReporter();
}

Environment SimulatedServer::OwnEnvironment() {
  if (scene_.mix.sync_ms > 0) {
    files_.OnSync([this] {
      const uint64_t drawn = KeyedHash(scene_.mix.network.seed, shard_, files_.changes());
      WaitFor(static_cast<int64_t>(drawn % static_cast<uint64_t>(scene_.mix.sync_ms)));
    });
  }
  if (scene_.mix.plant != Plant::kEpochKept) return environment();
  return {.clock = clock_,
          .nonce = [this] { return 1000 + shard_; },
          .files = files_,
          .executor = *executor_};
}

std::unique_ptr<transport::ServerTransport> SimulatedServer::MakeTransport() {
  return std::make_unique<SilentServer>(scene_.network.MakeServer(), [this] {
    if (has_crashed()) Silence();
    return has_crashed();
  });
}

void SimulatedServer::Kill(RandomStream* machine) {
  if (machine != nullptr && scene_.mix.machines_end) {
    files_.EndMachine(machine);
  } else {
    files_.EndProcess();
  }
  Silence();
  ForgetTransports();
  reporter_.reset();
  server_.reset();
  outcome_.reset();
  if (std::exchange(crashes_, false)) files_.Heal();
}

void SimulatedServer::Step() {
  if (server_ == nullptr || has_failed()) return;
  HealDiskIfDue();
  if (!outcome_) {
    outcome_ = server_->Step(0);
    if (outcome_) End();
    if (was_over_ && server_->is_loaded()) Clear();
  }
  executor_->RunOne();
  if (has_crashed() || !reporter_) return;
  HealIfDue();
  reporter_->Step(0);
}

void SimulatedServer::HealDiskIfDue() {
  const bool is_due = scene_.all_have_finished || scene_.now_ms >= disk_heals_ms_.value_or(0);
  if (!disk_heals_ms_ || !is_due) return;
  disk_heals_ms_.reset();
  files_.Heal();
}

void SimulatedServer::StartReporter() {
  const v1::ClusterConfig& cluster = scene_.config.cluster();
  server::ShardReporterOptions options{.environment = environment(),
                                       .coordinator_address = scene_.addresses[0],
                                       .identity = server_->identity(),
                                       .shard_index = shard_,
                                       .nonce = server_->life().nonce(),
                                       .first_timeout_ms = cluster.connect_timeout_ms(),
                                       .timeout_ms = server::ServerPatienceMs(cluster),
                                       .loading = [this] { return server_->loading(); },
                                       .bounded = &server_->bounded(),
                                       .news = &server_->news()};
  reporter_ = std::make_unique<server::ShardReporter>(
      std::move(options), MakeClient(50 + shard_, [](const auto&, const auto&) {}),
      [this](uint64_t run) { server_->Serve(run); },
      [this](Status status) { server_->End(std::move(status)); });
}

void SimulatedServer::End() {
  if (has_crashed()) return;
  scene_.Trace(20 + shard_);
  scene_.Tell(StrCat(name_, " has ended"));
  if (!outcome_->ok()) {
    ForgetTransports();
    if (reporter_) reporter_->SayFailure(*outcome_);
    return EndBecause(outcome_->message());
  }
  was_over_ = true;
  Clear();
}

// One that crashed meanwhile was started again: it finds nothing, or all as it was.
void SimulatedServer::Clear() {
  outcome_ = OkStatus();
  const Status cleared = server_->ClearLog();
  if (!cleared.ok() && !has_crashed()) EndBecause(cleared.message());
}

}  // namespace weir::simulation
