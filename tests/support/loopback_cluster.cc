#include "tests/support/loopback_cluster.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/config/defaults.h"
#include "common/config/validate_config.h"
#include "worker/model/kernels_for.h"
#include "worker/pipeline/pipeline_views.h"
#include "worker/pipeline/stage_links.h"
#include "worker/pipeline/stage_trainer.h"

namespace weir::test {

struct LoopbackCluster::Trainer {
  v1::Config config;
  std::unique_ptr<ModelLayout> layout;
  worker::PipelineViews views;
  std::unique_ptr<worker::StageLinks> links;
  std::unique_ptr<data::Reader> reader;
  std::unique_ptr<worker::ServerClient> client;
  worker::ParameterClient* trained_with = nullptr;
  std::thread thread;
};

v1::Config MakeConfig(const std::vector<std::string>& texts) {
  v1::Config config;
  for (const std::string& text : texts) {
    v1::Config part;
    CHECK(google::protobuf::TextFormat::ParseFromString(text, &part)) << text;
    config.MergeFrom(part);
  }
  config::FillDefaults(&config);
  const std::vector<std::string> problems = config::ValidateConfig(config);
  CHECK(problems.empty()) << problems[0];
  return config;
}

LoopbackCluster::LoopbackCluster(v1::Config config, const ClusterOptions& options)
    : config_(std::move(config)),
      options_(options),
      layout_(config_, options.servers),
      servers_(options.servers),
      reporters_(options.servers),
      server_threads_(options.servers),
      server_statuses_(options.servers),
      trainer_statuses_(options.trainers * options.stages) {}

LoopbackCluster::~LoopbackCluster() {
  StopServers();
  reporters_.clear();
}

void LoopbackCluster::StopServers() {
  for (const auto& server : servers_) {
    if (server) server->Stop();
  }
  Wait();
}

void LoopbackCluster::Run() {
  Start();
  Wait();
}

void LoopbackCluster::StartServer(uint32_t index) {
  auto transport = network_.MakeServer();
  CHECK(transport->Bind(Address(index)).ok());
  servers_[index] =
      std::make_unique<server::Server>(config_, options_.servers, index, std::move(transport),
                                       server::ServerOptions{.save = options_.save});
  server::Server* server = servers_[index].get();
  CHECK(server->PrepareSaving().ok());
  if (index > 0) {
    server::ShardReporterOptions reporter;
    reporter.coordinator_address = Address(0);
    reporter.identity = server->identity();
    reporter.shard_index = index;
    reporter.interval_ms = 20;
    reporter.news = &server->news();
    reporter.bounded = &server->bounded();
    server::ReportSaving(server->saving(), &reporter);
    reporters_[index] = std::make_unique<server::ShardReporter>(
        std::move(reporter), network_.MakeClient(), [server](uint64_t run) { server->Serve(run); },
        [server](Status status) { server->End(std::move(status)); });
    reporters_[index]->Start();
  }
  server_threads_[index] =
      std::thread([this, server, index] { server_statuses_[index] = server->Run(); });
}

void LoopbackCluster::StartServers() {
  for (uint32_t i = 0; i < options_.servers; ++i) StartServer(i);
}

kernels::Compute LoopbackCluster::ComputeOf(uint32_t trainer, uint32_t stage) const {
  return options_.compute ? options_.compute(trainer, stage)
                          : model::CpuComputeFor(config_.model());
}

std::unique_ptr<worker::ServerClient> LoopbackCluster::MakeClient(uint32_t trainer) {
  worker::LinkOptions link;
  for (uint32_t i = 0; i < options_.servers; ++i) link.server_addresses.push_back(Address(i));
  link.trainer = trainer;
  link.compute = ComputeOf(trainer, 0);
  transport::FaultPlan faults = options_.faults;
  faults.seed += trainer;
  return std::make_unique<worker::ServerClient>(
      config_, layout_, link,
      std::make_unique<transport::FaultyClientTransport>(network_.MakeClient(), faults));
}

void LoopbackCluster::MakeStage(uint32_t trainer, uint32_t stage) {
  auto parts = std::make_unique<Trainer>();
  const bool is_odd = options_.odd_stage && options_.odd_stage->first == stage && trainer == 0;
  parts->config = is_odd ? options_.odd_stage->second : config_;
  parts->layout = std::make_unique<ModelLayout>(parts->config, options_.servers);
  v1::Config reads = parts->config;
  if (trainer == 0 && options_.odd_rows_stage == stage) {
    reads.mutable_data()->mutable_synthetic()->set_seed(77);
  }
  auto reader = data::MakeReader(reads);
  CHECK(reader.ok()) << reader.status();
  parts->reader = *std::move(reader);
  if (options_.stages == 1) {
    parts->client = MakeClient(trainer);
  } else {
    const std::string address = StrCat("inproc://link-", trainer, "-", stage);
    worker::StageLinkOptions link{.trainer = trainer,
                                  .stage = stage,
                                  .stage_count = options_.stages,
                                  .listen_address = address,
                                  .advertised_address = address};
    transport::FaultPlan faults = options_.link_faults;
    faults.seed += 100 * trainer + stage;
    parts->links = std::make_unique<worker::StageLinks>(
        std::move(link), stage == 0 ? nullptr : network_.MakeServer(),
        stage + 1 == options_.stages
            ? nullptr
            : std::make_unique<transport::FaultyClientTransport>(network_.MakeClient(), faults));
    CHECK(parts->links->Listen().ok());
    worker::LinkOptions options;
    for (uint32_t i = 0; i < options_.servers; ++i) options.server_addresses.push_back(Address(i));
    options.trainer = trainer;
    options.compute = ComputeOf(trainer, stage);
    options.stage = stage;
    options.stage_count = options_.stages;
    options.link_address = parts->links->address();
    options.stays = stage > 0;
    options.on_pipeline = [views = &parts->views](const v1::PipelineView& view) {
      views->Set(view);
    };
    parts->client = std::make_unique<worker::ServerClient>(parts->config, *parts->layout, options,
                                                           network_.MakeClient());
  }
  parts->trained_with =
      options_.around ? options_.around(parts->client.get()) : parts->client.get();
  trainers_.push_back(std::move(parts));
}

Status LoopbackCluster::RunStage(uint32_t trainer, uint32_t stage, Trainer* parts) {
  const Status joined = parts->client->Connect();
  if (all_joined_) all_joined_->arrive_and_wait();  // who joins a run that is over is refused
  WEIR_RETURN_IF_ERROR(joined);
  worker::WorkerOptions options;
  options.threads = options_.threads;
  options.compute = ComputeOf(trainer, stage);
  if (options_.stages > 1) {
    options.stage = stage;
    const worker::StageParts of_stage{
        .trainer = trainer,
        .stage = stage,
        .client = parts->client.get(),
        .links = parts->links.get(),
        .views = &parts->views,
        .reader = parts->reader.get(),
        .tell_adopted = [client = parts->client.get()](
                            uint64_t generation,
                            bool awaited_next) { client->TellAdopted(generation, awaited_next); },
        .tell_lost =
            [client = parts->client.get()](uint64_t generation) { client->TellLost(generation); }};
    options.make_trainer = [this, parts, trainer, stage,
                            of_stage](std::function<void(const Status&)> on_failure) {
      return std::make_unique<worker::StageTrainer>(parts->config, *parts->layout,
                                                    ComputeOf(trainer, stage), options_.threads,
                                                    of_stage, std::move(on_failure));
    };
  }
  worker::Worker worker(parts->config, *parts->layout, std::move(options), parts->reader.get(),
                        parts->trained_with);
  auto report = worker.Run();
  Status status = report.status();
  if (trainer == 0 && stage == 0 && report.ok()) report_ = *std::move(report);
  return status;
}

void LoopbackCluster::Start() {
  StartServers();
  for (uint32_t i = 0; i < options_.trainers; ++i) {
    for (uint32_t stage = 0; stage < options_.stages; ++stage) MakeStage(i, stage);
  }
  if (options_.stages == 1 && !options_.missing_stage) all_joined_.emplace(options_.trainers);
  for (uint32_t trainer = 0; trainer < options_.trainers; ++trainer) {
    for (uint32_t stage = 0; stage < options_.stages; ++stage) {
      if (trainer == 0 && options_.missing_stage == stage) continue;
      const uint32_t i = trainer * options_.stages + stage;
      trainers_[i]->thread = std::thread([this, i, trainer, stage] {
        trainer_statuses_[i] = RunStage(trainer, stage, trainers_[i].get());
        // As at the end of its process: the servers wait for a later stage's farewell.
        if (stage > 0) trainers_[i]->client.reset();
      });
    }
  }
}

void LoopbackCluster::Wait() {
  for (const auto& trainer : trainers_) {
    if (trainer->thread.joinable()) trainer->thread.join();
  }
  for (std::thread& thread : server_threads_) {
    if (thread.joinable()) thread.join();
  }
}

void LoopbackCluster::RestartServer(uint32_t index) {
  servers_[index]->Stop();
  server_threads_[index].join();
  reporters_[index].reset();
  servers_[index].reset();
  StartServer(index);
}

std::vector<float> LoopbackCluster::ServerValues() {
  std::vector<float> values(static_cast<size_t>(layout_.flat_element_count()));
  for (const auto& server : servers_) {
    server->shard().WaitIdle();
    for (const auto& strand : server->shard().dense_strands()) {
      const store::Piece& piece = strand->piece();
      const TensorSpec& tensor = layout_.tensors()[piece.spec().tensor];
      std::copy(piece.values().begin(), piece.values().end(),
                values.begin() + tensor.offset + piece.spec().begin);
    }
  }
  return values;
}

std::vector<uint64_t> LoopbackCluster::ServerVersions() const {
  std::vector<uint64_t> versions;
  for (const auto& server : servers_) versions.push_back(server->shard().version());
  return versions;
}

int64_t LoopbackCluster::passed_lines() const {
  int64_t lines = 0;
  for (const auto& trainer : trainers_) lines += trainer->reader->passed_lines();
  return lines;
}

uint64_t LoopbackCluster::RowsHash() {
  uint64_t hash = 0;
  for (const auto& server : servers_) {
    server->shard().WaitIdle();
    for (const auto& strand : server->shard().row_strands()) {
      strand->rows().ForEachRow([&](uint32_t table, uint64_t id, std::span<const float> values,
                                    std::span<const float> state) {
        uint64_t row = KeyedHash(table, id);
        for (const float value : values) row = KeyedHash(row, std::bit_cast<uint32_t>(value));
        for (const float value : state) row = KeyedHash(row, std::bit_cast<uint32_t>(value));
        hash += row;  // a sum, so that order does not matter
      });
    }
  }
  return hash;
}

}  // namespace weir::test
