#include "tests/support/loopback_cluster.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/config/defaults.h"
#include "common/config/validate_config.h"

namespace weir::test {

struct LoopbackCluster::Trainer {
  std::unique_ptr<data::Reader> reader;
  std::unique_ptr<worker::ServerClient> client;
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

LoopbackCluster::LoopbackCluster(v1::Config config, ClusterOptions options)
    : config_(std::move(config)),
      options_(options),
      layout_(config_, options.servers),
      servers_(options.servers),
      reporters_(options.servers),
      server_threads_(options.servers),
      server_statuses_(options.servers),
      trainer_statuses_(options.trainers) {}

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
      std::make_unique<server::Server>(config_, options_.servers, index, std::move(transport));
  server::Server* server = servers_[index].get();
  if (index > 0) {
    server::ShardReporterOptions reporter;
    reporter.coordinator_address = Address(0);
    reporter.identity = server->identity();
    reporter.shard_index = index;
    reporter.interval_ms = 20;
    reporters_[index] = std::make_unique<server::ShardReporter>(
        std::move(reporter), network_.MakeClient(),
        [server](Status status) { server->End(std::move(status)); });
    reporters_[index]->Start();
  }
  server_threads_[index] =
      std::thread([this, server, index] { server_statuses_[index] = server->Run(); });
}

void LoopbackCluster::StartServers() {
  for (uint32_t i = 0; i < options_.servers; ++i) StartServer(i);
}

std::unique_ptr<worker::ServerClient> LoopbackCluster::MakeClient(uint32_t trainer) {
  worker::LinkOptions link;
  for (uint32_t i = 0; i < options_.servers; ++i) link.server_addresses.push_back(Address(i));
  link.trainer = trainer;
  transport::FaultPlan faults = options_.faults;
  faults.seed += trainer;
  return std::make_unique<worker::ServerClient>(
      config_, layout_, link,
      std::make_unique<transport::FaultyClientTransport>(network_.MakeClient(), faults));
}

void LoopbackCluster::Start() {
  StartServers();
  for (uint32_t i = 0; i < options_.trainers; ++i) {
    auto trainer = std::make_unique<Trainer>();
    auto reader = data::MakeReader(config_);
    CHECK(reader.ok()) << reader.status();
    trainer->reader = *std::move(reader);
    trainer->client = MakeClient(i);
    trainers_.push_back(std::move(trainer));
  }
  for (uint32_t i = 0; i < options_.trainers; ++i) {
    trainers_[i]->thread = std::thread([this, i] {
      Trainer& trainer = *trainers_[i];
      trainer_statuses_[i] = trainer.client->Connect();
      if (!trainer_statuses_[i].ok()) return;
      worker::WorkerOptions worker_options;
      worker_options.threads = options_.threads;
      worker::Worker worker(config_, layout_, worker_options, trainer.reader.get(),
                            trainer.client.get());
      auto report = worker.Run();
      trainer_statuses_[i] = report.status();
      if (i == 0 && report.ok()) report_ = *std::move(report);
    });
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
