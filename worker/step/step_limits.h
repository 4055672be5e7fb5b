// How a worker uses its part of the run's concurrency (common/cluster/concurrency.h): threads
// first, then pushes that are on their way while a thread computes. Threads make a run faster,
// where a push in flight only makes it wait less: those come in four times as late.
//
// Place in the life of a batch: **before it is cut**.
// Thread rule: a value.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weir::worker {

struct StepLimits {
  int threads = 1;             // that train
  int window = 1;              // pushes in flight
  bool awaits_answers = true;  // a thread waits for its push's answer before its next step

  bool operator==(const StepLimits&) const = default;
};

// concurrency: batches of this worker that may be at work at the same time, from the reading of the
// parameters to the answer of the last server. threads, window: what it has, and cluster.window.
inline StepLimits LimitsFor(uint32_t concurrency, int threads, int window) {
  constexpr int kBatchesOfPush = 4;
  const int batches = static_cast<int>(std::clamp<uint32_t>(concurrency, 1, 1 << 20));
  const int at_work = std::min(batches, threads);
  const int pushes = (batches - at_work) / kBatchesOfPush;
  // Threads that await their answers have a push each in flight already.
  const int awaited = std::min(at_work, window);
  const int in_flight = std::min(std::max(awaited, pushes), window);
  return {
      .threads = at_work, .window = in_flight, .awaits_answers = window == 1 || pushes < awaited};
}

}  // namespace weir::worker
