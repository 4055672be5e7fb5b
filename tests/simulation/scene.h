// What all of a simulated run share: what befalls it, its network, and what has been seen.
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/layout/model_layout.h"
#include "common/transport/loopback.h"
#include "tests/server/server_test_support.h"
#include "tests/support/faulty_transport.h"

namespace weir::simulation {

inline constexpr uint64_t kBatchRows = 10;

// Each seed has its own mix of faults, so that each kind is also met without the others.
struct Mix {
  uint32_t servers = 1, trainers = 1;
  uint64_t chunks = 10, chunk_batches = 2;
  bool machines_end = false;  // with what was not synced; else processes alone do
  uint64_t snapshot_bytes = 1000;
  int64_t batch_ms = 0;  // that one takes at most
  // Chances in each second of a storm, of each process.
  double server_death = 0, worker_death = 0, standstill = 0, cut = 0;
  transport::FaultPlan network;
};

inline Mix DrawMix(uint64_t seed) {
  RandomStream random(seed, 1);
  const auto perhaps = [&](double most) {
    const double chance = most * random.NextUnit();
    return random.NextBelow(2) == 0 ? 0 : chance;
  };
  Mix mix;
  mix.servers = 1 + static_cast<uint32_t>(random.NextBelow(3));
  mix.trainers = 1 + static_cast<uint32_t>(random.NextBelow(3));
  mix.chunks = 5 + random.NextBelow(20);
  mix.chunk_batches = 1 + random.NextBelow(3);
  mix.machines_end = random.NextBelow(2) == 0;
  mix.snapshot_bytes = 500 + random.NextBelow(10'000);
  mix.batch_ms = static_cast<int64_t>(random.NextBelow(400));
  mix.server_death = perhaps(1);
  mix.worker_death = perhaps(0.5);
  mix.standstill = perhaps(0.5);
  mix.cut = perhaps(0.5);
  mix.network.seed = seed;
  mix.network.break_probability = perhaps(0.02);
  mix.network.max_delay_ms = static_cast<int64_t>(perhaps(100));
  return mix;
}

// A push adds 1 to an element of its own at every server, and to a row that its trainer has there.
struct SentPush {
  uint32_t trainer = 0;
  uint64_t life = 0, sequence = 0;
  uint64_t chunk = 0, row = 0;
};

class Scene {
 public:
  explicit Scene(const Mix& drawn) : mix(drawn), config(ConfigOf(drawn)) {
    for (uint32_t i = 0; i < mix.servers; ++i) addresses.push_back(StrCat("inproc://server", i));
  }

  void Trace(uint64_t what) { trace = KeyedHash(trace, what); }
  void Trace(const transport::Message& message) {
    for (const transport::Part& part : message.parts) {
      for (const auto byte : part.span()) Trace(static_cast<uint64_t>(byte));
    }
  }
  // For who looks at one seed.
  void Tell(const std::string& what) const {
    if (tells) std::cerr << now_ms << " ms: " << what << "\n";
  }
  // The first is kept.
  void Violate(std::string what) {
    if (violation.empty()) violation = StrCat("after ", now_ms, " ms: ", what);
  }

  const Mix mix;
  const v1::Config config;
  const ModelLayout layout{config, mix.servers};
  std::vector<std::string> addresses;
  transport::LoopbackNetwork network;
  uint64_t names = 100, trace = 0;
  int64_t now_ms = 0;
  const bool tells = std::getenv("WEIR_TELL") != nullptr;
  std::string violation;
  bool all_have_finished = false;  // workers, as each has heard
  std::vector<SentPush> pushes;    // each has the element of its index

 private:
  static v1::Config ConfigOf(const Mix& mix) {
    v1::Config config = server::TinyConfig();
    config.mutable_model()->clear_bottom_widths();
    for (const int32_t width : {64, 32, 4}) config.mutable_model()->add_bottom_widths(width);
    config.mutable_data()->set_chunk_batches(static_cast<int32_t>(mix.chunk_batches));
    v1::SyntheticConfig& rows = *config.mutable_data()->mutable_synthetic();
    rows.set_rows(kBatchRows * mix.chunk_batches * mix.chunks);
    rows.set_test_rows(0);
    config.mutable_data()->clear_train_rows();
    v1::ClusterConfig& cluster = *config.mutable_cluster();
    cluster.set_durability(mix.machines_end ? v1::MACHINE : v1::PROCESS);
    config::FillDefaults(&config);
    const auto mistakes = config::ValidateConfig(config);
    CHECK(mistakes.empty()) << mistakes.front();
    return config;
  }
};

}  // namespace weir::simulation
