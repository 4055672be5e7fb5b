// What all of a simulated run share: what befalls it, its network, and what has been seen.
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/layout/model_layout.h"
#include "common/transport/loopback.h"
#include "tests/simulation/mix.h"
#include "tests/simulation/run_config.h"
#include "tests/simulation/sent_push.h"

namespace weir::simulation {

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

  uint32_t stage_count() const { return static_cast<uint32_t>(layout.stages().size()); }
  // What a worker of this stage has of the model.
  const StageSpec& part(uint32_t stage) const { return layout.stages()[stage]; }

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
  std::vector<SentPush> pushes;
  std::map<uint32_t, std::vector<size_t>> pushes_of_stage;  // each has the element of its index
  std::map<std::pair<uint32_t, Trip>, BatchPlace> begun;    // by the first stage of a trainer
  std::vector<HandedBack> handed_back;
  std::function<void(cluster::Seat)> look_at_evaluation;  // of a worker that begins to test
  std::map<cluster::Seat, std::string> link_addresses;    // of stages, where they are now
  // When a server first greeted who has replaced another in its seat.
  std::map<std::tuple<cluster::Seat, uint32_t, uint32_t>, int64_t> greeted_ms;  // by its number
  std::map<cluster::Seat, uint64_t> adopted;  // the last generation of the pipeline
};

}  // namespace weir::simulation
