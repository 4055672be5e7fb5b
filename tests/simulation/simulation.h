// A run of servers and trainers on one thread, in which a seed decides what happens and what goes
// wrong, until it has ended, and what must hold then.
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/scene.h"
#include "tests/simulation/simulated_server.h"
#include "tests/simulation/simulated_worker.h"

namespace weir::simulation {

struct Outcome {
  std::string violation;  // empty: none
  uint64_t trace = 0;     // of all that was seen
  int64_t duration_ms = 0;
  int64_t deaths = 0, pushes = 0;
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed, Plant plant = Plant::kNone);
  Outcome Run();

 private:
  static constexpr int64_t kFaultsMs = 60'000;  // then there are none
  static constexpr int64_t kStormEveryMs = 12'000, kStormMs = 4'000;
  static constexpr int64_t kLongestMs = 300'000;

  void Turn();
  void Harm(int64_t duration_ms);
  bool Befalls(double chance_per_second, int64_t duration_ms);
  bool IsOver() const;
  void LookAtEnd();
  void CheckServer(uint32_t server);
  void CheckRows(uint32_t server, const std::vector<int64_t>& pushes);
  void CheckPush(uint32_t server, size_t element, int64_t count);
  void CheckReplica(const SimulatedWorker& worker);

  Scene scene_;
  RandomStream random_;
  std::vector<std::unique_ptr<SimulatedServer>> servers_;
  std::vector<std::unique_ptr<SimulatedWorker>> workers_;
  std::vector<SimulatedProcess*> processes_;
  bool was_checked_ = false;
  int64_t deaths_ = 0;
};

}  // namespace weir::simulation
