// What a seed's run is like, and what befalls it.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>

#include "common/base/random.h"
#include "tests/support/faulty_transport.h"

namespace weir::simulation {

inline constexpr uint64_t kBatchRows = 10;

// Faults of the system's own, which have to be found.
enum class Plant {
  kNone,
  kNothingSynced,   // servers promise what the end of their machine takes away
  kPushTakenTwice,  // trainers send some pushes again under another number
};

// Each seed has its own mix of faults, so that each kind is also met without the others.
struct Mix {
  Plant plant = Plant::kNone;
  uint32_t servers = 1, trainers = 1;
  uint64_t chunks = 10, chunk_batches = 2;
  bool machines_end = false;  // with what was not synced; else processes alone do
  uint64_t snapshot_bytes = 1000;
  int64_t batch_ms = 0;  // that one takes at most
  // Chances in each second of a storm, of each process.
  double server_death = 0, worker_death = 0, standstill = 0, cut = 0;
  transport::FaultPlan network;
};

inline Mix DrawMix(uint64_t seed, Plant plant) {
  RandomStream random(seed, 1);
  const auto perhaps = [&](double most) {
    const double chance = most * random.NextUnit();
    return random.NextBelow(2) == 0 ? 0 : chance;
  };
  Mix mix;
  mix.plant = plant;
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

}  // namespace weir::simulation
