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
#include "tests/simulation/mix.h"

namespace weir::simulation {

// A push adds 1 to an element of its own at every server, and to a row that its trainer has there;
// in rounds, its part of that.
struct SentPush {
  uint32_t trainer = 0;
  uint64_t life = 0, sequence = 0;
  uint64_t chunk = 0, row = 0, round = 0;
};

class Scene {
 public:
  explicit Scene(const Mix& drawn) : mix(drawn), config(ConfigOf(drawn)) {
    for (uint32_t i = 0; i < mix.servers; ++i) addresses.push_back(StrCat("inproc://server", i));
  }

  void Trace(uint64_t what) { trace = KeyedHash(trace, what); }
  void Trace(const transport::Message& message) {
    for (const transport::Part& part : message.parts) {
      for (const auto byte : part.span()) Trace(uint64_t{byte});
    }
  }
  // For who looks at one seed.
  void Tell(const std::string& what) const {
    if (tells) std::cerr << now_ms << " ms: " << what << "\n";
  }
  // The first is kept.
  void Violate(const std::string& what) {
    if (violation.empty()) violation = StrCat("after ", now_ms, " ms: ", what);
  }

  const Mix mix;
  const v1::Config config;
  const ModelLayout layout{config, mix.servers};
  std::vector<std::string> addresses;
  transport::LoopbackNetwork network;
  PlantMemory planted;
  uint64_t names = 100, trace = 0;
  int64_t now_ms = 0;
  const bool tells = std::getenv("WEIR_TELL") != nullptr;
  std::string violation;
  bool all_have_finished = false;  // workers, as each has heard
  bool has_disk_failed = false;    // and ended a server
  int refresh = 1;  // with the first, what a server has lost is sent again; with the next all come
  std::vector<SentPush> pushes;  // each has the element of its index

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
    const bool syncs = mix.machines_end && mix.plant != Plant::kNothingSynced;
    cluster.set_durability(syncs ? v1::MACHINE : v1::PROCESS);
    cluster.set_commit_interval_ms(mix.commit_ms);
    if (mix.in_rounds) {
      config.mutable_consistency()->mutable_sync()->set_trainers(
          static_cast<int32_t>(mix.trainers));
    }
    config::FillDefaults(&config);
    const auto mistakes = config::ValidateConfig(config);
    CHECK(mistakes.empty()) << mistakes.front();
    return config;
  }
};

}  // namespace weir::simulation
