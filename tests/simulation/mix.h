// What a seed's run is like, and what befalls it.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>

#include "common/base/random.h"
#include "tests/simulation/plants.h"
#include "tests/support/faulty_transport.h"

namespace weir::simulation {

inline constexpr uint64_t kBatchRows = 10;
// Within that time who has ended is started again.
inline constexpr int64_t kSoonMs = 3000;

// Each seed has its own mix of faults, so that each kind is also met without the others.
struct Mix {
  Plant plant = Plant::kNone;
  uint32_t servers = 1, trainers = 1;
  uint64_t chunks = 10, chunk_batches = 2;
  bool in_rounds = false;
  // Where the model is cut into stages, each a process of its own.
  bool splits_bottom = false, splits_top = false;
  // Of such a run alone: chunks to test on, after so many batches each time. 0: it has none.
  uint64_t test_chunks = 0, evaluate_every = 0;
  int32_t in_flight = 1;       // batches between stages, for each thread of the first one
  uint32_t stage_threads = 1;  // of each stage
  bool machines_end = false;   // with what was not synced; else processes alone do
  uint64_t snapshot_bytes = 1000;
  int64_t batch_ms = 0;  // that one takes at most
  // Chances in each second of a storm, of each process.
  double server_death = 0, worker_death = 0, standstill = 0, cut = 0;
  double trainer_death = 0;              // of one with all its stages
  double replacement = 0;                // of a stage that stands still, by another process
  int64_t longest_absence_ms = kSoonMs;  // of workers; of one at a time where that is not soon
  double crash = 0;                      // of a server, in the midst of a change of its disk
  double disk_failure = 0;               // for a while nothing can be written
  double clock_jump = 0;                 // of minutes, forward
  int64_t sync_ms = 0;                   // that the disk takes at most to sync
  int32_t commit_ms = 10;                // between two syncs of the log
  uint64_t pull_every = 1;               // batches: others have their rows
  transport::FaultPlan network;
  double link_damage = 0;  // of a message between stages

  bool is_in_stages() const { return splits_bottom || splits_top; }
};

// Half of all seeds are without it.
inline double DrawChance(double most, RandomStream* random) {
  const double chance = most * random->NextUnit();
  return random->NextBelow(2) == 0 ? 0 : chance;
}

inline void DrawDisk(RandomStream* random, Mix* mix) {
  mix->crash = DrawChance(0.5, random);
  mix->disk_failure = DrawChance(0.2, random);
  mix->clock_jump = DrawChance(0.2, random);
  mix->sync_ms = static_cast<int64_t>(DrawChance(100, random));
  mix->commit_ms = 1 + static_cast<int32_t>(random->NextBelow(200));
}

// Of a fifth of the runs; none in rounds has stages.
inline void DrawStages(RandomStream* random, Mix* mix) {
  if (mix->in_rounds || random->NextBelow(4) > 0) return;
  const uint64_t splits = 1 + random->NextBelow(3);
  mix->splits_bottom = splits % 2 == 1;
  mix->splits_top = splits >= 2;
  mix->in_flight = 1 + static_cast<int32_t>(random->NextBelow(4));
  mix->stage_threads = 1 + static_cast<uint32_t>(random->NextBelow(2));
  mix->batch_ms += 200;  // so that storms meet the run at work
  mix->trainer_death = DrawChance(0.2, random);
  if (random->NextBelow(2) == 0) {
    mix->test_chunks = 1 + random->NextBelow(3);
    mix->evaluate_every = 5 + random->NextBelow(30);
  }
  mix->replacement = DrawChance(0.3, random);
  mix->link_damage = DrawChance(0.02, random);
  if (random->NextBelow(2) == 0) return;
  mix->longest_absence_ms = 60'000;
  mix->worker_death += 0.2;
}

inline Mix DrawMix(uint64_t seed, Plant plant) {
  RandomStream random(seed, 1);
  Mix mix;
  mix.plant = plant;
  mix.servers = 1 + static_cast<uint32_t>(random.NextBelow(3));
  mix.trainers = 1 + static_cast<uint32_t>(random.NextBelow(3));
  mix.chunks = 5 + random.NextBelow(20);
  mix.chunk_batches = 1 + random.NextBelow(3);
  mix.machines_end = random.NextBelow(2) == 0;
  mix.snapshot_bytes = 500 + random.NextBelow(10'000);
  mix.batch_ms = static_cast<int64_t>(random.NextBelow(400));
  mix.server_death = DrawChance(1, &random);
  mix.worker_death = DrawChance(0.5, &random);
  mix.standstill = DrawChance(0.5, &random);
  mix.cut = DrawChance(0.5, &random);
  mix.network.seed = seed;
  mix.network.break_probability = DrawChance(0.02, &random);
  mix.network.max_delay_ms = static_cast<int64_t>(DrawChance(100, &random));
  DrawDisk(&random, &mix);
  mix.network.late_probability = DrawChance(1, &random);
  mix.pull_every = 1 + random.NextBelow(4);
  mix.in_rounds = random.NextBelow(4) == 0;
  DrawStages(&random, &mix);
  return mix;
}

}  // namespace weir::simulation
