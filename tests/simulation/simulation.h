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
#include "tests/simulation/simulated_stage.h"
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
  explicit Simulation(const Mix& mix);
  explicit Simulation(uint64_t seed, Plant plant = Plant::kNone)
      : Simulation(DrawMix(seed, plant)) {}
  Outcome Run();
  SimulatedServer& server(uint32_t index) { return *servers_[index]; }
  SimulatedStage& stage(uint32_t index) { return *stages_[index]; }

 private:
  static constexpr int64_t kFaultsMs = 100'000;  // then there are none
  static constexpr int64_t kStormEveryMs = 20'000, kStormMs = 4'000;
  static constexpr int64_t kUntilReplacedMs = 1'000'000'000;
  // What is lost between stages is missed late, again and again.
  int64_t LongestMs() const { return scene_.mix.is_in_stages() ? 1'200'000 : 300'000; }

  void AddTrainer(uint32_t trainer);
  void Turn();
  // Who has ended without being asked is started again.
  void LookAfter(SimulatedProcess& process);
  void Harm(int64_t duration_ms);
  void HarmServer(SimulatedServer& server, int64_t duration_ms);
  void HarmTrainers(int64_t duration_ms);
  // Some stand still until others, started in their place, are there; then they wake up.
  void ReplaceStages(int64_t duration_ms);
  void Replace(size_t worker);
  void WakeFormer();
  void HarmProcess(SimulatedProcess& process, double death, int64_t duration_ms);
  int64_t DrawAbsenceMs(const SimulatedProcess& process);
  bool Befalls(double chance_per_second, int64_t duration_ms);
  int64_t DrawMs(uint64_t most) { return static_cast<int64_t>(1 + random_.NextBelow(most)); }
  bool IsOver() const;
  void LookAtEnd();

  Scene scene_;
  RandomStream random_;
  std::vector<std::unique_ptr<SimulatedServer>> servers_;
  std::vector<std::unique_ptr<SimulatedWorker>> workers_;
  std::vector<std::unique_ptr<SimulatedWorker>> former_;  // that were replaced
  std::vector<SimulatedStage*> stages_;                   // of those workers
  std::vector<SimulatedProcess*> processes_;
  bool has_finished_ = false, was_checked_ = false;
  int64_t long_absence_ends_ms_ = 0;
  int64_t deaths_ = 0;
};

}  // namespace weir::simulation
