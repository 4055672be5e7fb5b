#include "tests/simulation/simulation.h"

#include "common/base/strings.h"
#include "tests/simulation/invariants.h"
#include "tests/simulation/simulated_trainer.h"

namespace weir::simulation {

Simulation::Simulation(const Mix& mix) : scene_(mix), random_(mix.network.seed, 2) {
  for (uint32_t i = 0; i < scene_.mix.servers; ++i) {
    servers_.push_back(std::make_unique<SimulatedServer>(&scene_, i));
    processes_.push_back(servers_.back().get());
  }
  for (uint32_t i = 0; i < scene_.mix.trainers; ++i) AddTrainer(i);
  for (const auto& worker : workers_) processes_.push_back(worker.get());
  scene_.look_at_evaluation = [this](cluster::Seat seat) {
    Invariants(&scene_, servers_, workers_).CheckEvaluated(seat);
  };
}

void Simulation::AddTrainer(uint32_t trainer) {
  if (!scene_.mix.is_in_stages()) {
    workers_.push_back(std::make_unique<SimulatedTrainer>(&scene_, trainer));
    return;
  }
  for (uint32_t stage = 0; stage < scene_.stage_count(); ++stage) {
    auto worker = std::make_unique<SimulatedStage>(&scene_, cluster::Seat{trainer, stage});
    stages_.push_back(worker.get());
    workers_.push_back(std::move(worker));
  }
}

Outcome Simulation::Run() {
  while (!IsOver() && scene_.violation.empty()) Turn();
  return {.violation = scene_.violation,
          .trace = scene_.trace,
          .duration_ms = scene_.now_ms,
          .deaths = deaths_,
          .pushes = std::ssize(scene_.pushes)};
}

bool Simulation::IsOver() const {
  return std::ranges::all_of(servers_,
                             [](const auto& server) { return server->outcome().has_value(); }) &&
         std::ranges::all_of(workers_, [](const auto& worker) { return worker->has_left(); });
}

// Where something was heard the next is soon to come.
void Simulation::Turn() {
  const uint64_t before = scene_.trace;
  const size_t first = random_.NextBelow(processes_.size());
  for (size_t i = 0; i < processes_.size(); ++i) {
    SimulatedProcess& process = *processes_[(first + i) % processes_.size()];
    process.Look();
    LookAfter(process);
  }
  const int64_t duration_ms = scene_.trace != before ? 2 : 20;
  scene_.now_ms += duration_ms;
  for (SimulatedProcess* process : processes_) process->Advance(duration_ms);
  if (!scene_.all_have_finished && scene_.now_ms < kFaultsMs) Harm(duration_ms);
  WakeFormer();
  LookAtEnd();
  if (scene_.now_ms > LongestMs()) scene_.Violate("the run does not end");
}

void Simulation::LookAfter(SimulatedProcess& process) {
  if (!process.is_alive() || (!process.has_crashed() && !process.has_failed())) return;
  ++deaths_;
  process.Die(DrawMs(kSoonMs), process.has_crashed() ? &random_ : nullptr);
}

int64_t Simulation::DrawAbsenceMs(const SimulatedProcess& process) {
  if (scene_.now_ms < long_absence_ends_ms_) return DrawMs(kSoonMs);
  const int64_t absence_ms = DrawMs(static_cast<uint64_t>(process.longest_absence_ms()));
  if (absence_ms > kSoonMs) long_absence_ends_ms_ = scene_.now_ms + absence_ms;
  return absence_ms;
}

bool Simulation::Befalls(double chance_per_second, int64_t duration_ms) {
  return random_.NextUnit() < chance_per_second * static_cast<double>(duration_ms) / 1000;
}

// In storms, with time between them in which all find each other again.
void Simulation::Harm(int64_t duration_ms) {
  if (scene_.now_ms % kStormEveryMs > kStormMs) return;
  for (const auto& server : servers_) HarmServer(*server, duration_ms);
  for (const auto& worker : workers_) HarmProcess(*worker, scene_.mix.worker_death, duration_ms);
  if (!scene_.mix.is_in_stages()) return;
  HarmTrainers(duration_ms);
  ReplaceStages(duration_ms);
}

// One after another: nobody else is away for long meanwhile.
void Simulation::ReplaceStages(int64_t duration_ms) {
  for (size_t i = 0; i < workers_.size(); ++i) {
    const bool may = workers_[i]->is_at_work() && scene_.now_ms >= long_absence_ends_ms_;
    if (may && Befalls(scene_.mix.replacement, duration_ms)) Replace(i);
  }
}

void Simulation::WakeFormer() {
  for (const auto& former : former_) {
    const auto has_its_place = [&](const auto& worker) { return worker->seat() == former->seat(); };
    const bool is_asleep = former->stood_until_ms() > scene_.now_ms + kUntilReplacedMs / 2;
    if (!is_asleep || !(*std::ranges::find_if(workers_, has_its_place))->is_at_work()) continue;
    former->StandStill(DrawMs(5000));
  }
}

void Simulation::Replace(size_t worker) {
  long_absence_ends_ms_ = scene_.now_ms + 15'000;
  SimulatedWorker& former = *workers_[worker];
  former.BeReplaced();
  former.StandStill(kUntilReplacedMs);
  const auto number = static_cast<uint32_t>(former_.size() + 1);
  auto next = std::make_unique<SimulatedStage>(&scene_, former.seat(), number);
  next->BeginAt(scene_.now_ms + DrawMs(kSoonMs));
  processes_.push_back(next.get());
  stages_[worker] = next.get();
  former_.push_back(std::exchange(workers_[worker], std::move(next)));
}

// All stages of one at once.
void Simulation::HarmTrainers(int64_t duration_ms) {
  for (uint32_t trainer = 0; trainer < scene_.mix.trainers; ++trainer) {
    if (!Befalls(scene_.mix.trainer_death, duration_ms)) continue;
    for (const auto& worker : workers_) {
      if (worker->seat().trainer != trainer || !worker->is_at_work()) continue;
      ++deaths_;
      worker->Die(DrawMs(kSoonMs), &random_);
    }
  }
}

void Simulation::HarmServer(SimulatedServer& server, int64_t duration_ms) {
  HarmProcess(server, scene_.mix.server_death, duration_ms);
  if (!server.is_at_work()) return;
  if (Befalls(scene_.mix.crash, duration_ms)) server.CrashAt(1 + random_.NextBelow(10));
  if (Befalls(scene_.mix.disk_failure, duration_ms)) {
    const int64_t failed_ms = DrawMs(5000);
    server.FailDisk(1 + random_.NextBelow(10), failed_ms);
  }
  const bool goes_back = scene_.mix.plant == Plant::kClockGoesBack;
  if (goes_back && Befalls(0.5, duration_ms)) server.Advance(-600'000);
}

void Simulation::HarmProcess(SimulatedProcess& process, double death, int64_t duration_ms) {
  if (!process.is_at_work()) return;
  if (Befalls(death, duration_ms)) {
    ++deaths_;
    process.Die(DrawAbsenceMs(process), &random_);
  }
  if (Befalls(scene_.mix.standstill, duration_ms)) process.StandStill(DrawMs(4000));
  if (Befalls(scene_.mix.clock_jump, duration_ms)) process.JumpAhead(DrawMs(600'000));
  if (process.is_at_work() && Befalls(scene_.mix.cut, duration_ms)) {
    const int64_t cut_ms = DrawMs(5000);  // an order of its own, whatever the compiler
    process.CutFrom(process.Peer(random_.NextBelow(process.peer_count())), cut_ms);
  }
}

// Once nothing more is under way, and before anybody goes.
void Simulation::LookAtEnd() {
  if (was_checked_) return;
  const auto has_finished = [](const auto& worker) { return worker->is_finished(); };
  if (std::ranges::any_of(workers_, has_finished)) {  // servers await nobody for long
    if (!std::exchange(has_finished_, true)) Invariants(&scene_, servers_, workers_).CheckSettled();
    for (const auto& worker : workers_) worker->ComeBackBy(scene_.now_ms + kSoonMs);
  }
  scene_.all_have_finished = std::ranges::all_of(workers_, has_finished);
  if (!std::ranges::all_of(workers_, [](const auto& worker) { return worker->is_quiet(); })) return;
  if (!std::ranges::all_of(servers_, [](const auto& server) { return server->is_serving(); }))
    return;
  if (scene_.refresh == 1) {
    ++scene_.refresh;
    return;
  }
  was_checked_ = true;
  for (const auto& worker : former_) {
    if (worker->has_ended() || worker->stood_until_ms() + 20'000 > scene_.now_ms) continue;
    scene_.Violate(StrCat(Name(worker->seat()), " goes on though another is in its place"));
  }
  Invariants(&scene_, servers_, workers_).Check();
  for (const auto& worker : workers_) worker->Leave();
}

}  // namespace weir::simulation
