// What simulated workers have done, to be told from each other at the end.
//
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/strings.h"
#include "common/cluster/membership.h"

namespace weir::simulation {

// One way of a batch through all stages of its trainer, in this generation of them.
struct Trip {
  uint64_t generation = 0, number = 0;            // 0: the model is in one
  auto operator<=>(const Trip&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct BatchPlace {
  uint64_t chunk = 0, row = 0;
  auto operator<=>(const BatchPlace&) const = default;  // NOLINT(modernize-use-nullptr)
};

inline std::string Name(const BatchPlace& place) {
  return StrCat("row ", place.row, " of chunk ", place.chunk);
}

class SimulatedWorker;

// A push adds 1 to an element of its own at every server, and to a row that its trainer has there;
// in rounds, its part of that.
struct SentPush {
  const SimulatedWorker* worker = nullptr;
  cluster::Seat seat = {};
  int64_t at_ms = 0;
  uint64_t life = 0, sequence = 0;
  BatchPlace place = {};
  uint64_t round = 0;
  Trip trip = {};
  size_t element = 0;  // of the piece for pushes of its stage
};

// A later stage has its gradient of a batch, and the one before may go on.
struct HandedBack {
  const SimulatedWorker* worker = nullptr;
  cluster::Seat seat = {};
  uint64_t life = 0;
  BatchPlace place = {};
  Trip trip = {};
};

}  // namespace weir::simulation
