// Planted faults in what servers say: headers that say something else when they come.
//
// Thread rule: one thread.
#pragma once

#include "common/transport/message.h"
#include "tests/simulation/plants.h"

namespace weir::simulation {

// A message to that worker.
void Corrupt(Plant plant, uint64_t who, PlantMemory* memory, transport::Message* message);

// A message of that worker.
void CorruptSent(Plant plant, uint64_t who, PlantMemory* memory, transport::Message* message);

}  // namespace weir::simulation
