#include "tests/simulation/simulated_process.h"

#include "common/session/damage.h"

namespace weir::simulation {

void SimulatedProcess::Begin() {
  is_alive_ = true;
  has_failed_ = false;
  ++life_;
  if (scene_.mix.machines_end) SetClock();
  executor_ = std::make_unique<test::ManualExecutor>(scene_.mix.network.seed + life_);
  scene_.Trace(100 + life_);
  scene_.Tell(StrCat(name_, " begins"));
  Start();
}

void SimulatedProcess::Die(int64_t for_ms, RandomStream* machine) {
  is_alive_ = false;
  was_harmed_ = true;
  begins_ms_ = scene_.now_ms + for_ms;
  scene_.Trace(10);
  scene_.Tell(StrCat(name_, " dies for ", for_ms));
  Kill(machine);
  executor_.reset();
}

void SimulatedProcess::StandStill(int64_t for_ms) {
  scene_.Tell(StrCat(name_, " stands still for ", for_ms));
  stands_until_ms_ = scene_.now_ms + for_ms;
  was_harmed_ = true;
}

void SimulatedProcess::JumpAhead(int64_t jump_ms) {
  scene_.Tell(StrCat(name_, " has its clock jump by ", jump_ms));
  Advance(jump_ms);
}

void SimulatedProcess::CutFrom(const std::string& address, int64_t for_ms) {
  if (transports_.empty() || !is_alive_ || cuts_.contains(address)) return;
  scene_.Tell(StrCat(name_, " is cut from ", address, " for ", for_ms));
  for (WatchedTransport* transport : transports_) transport->faulty().Cut(address);
  cuts_.emplace(address, scene_.now_ms + for_ms);
  was_harmed_ = true;
}

void SimulatedProcess::HealIfDue() {
  std::erase_if(cuts_, [this](const auto& cut) {
    if (scene_.now_ms < cut.second) return false;
    for (WatchedTransport* transport : transports_) transport->faulty().Heal(cut.first);
    return true;
  });
}

std::unique_ptr<transport::ClientTransport> SimulatedProcess::MakeClient(
    uint64_t who, WatchedTransport::Seen seen, double damage) {
  transport::FaultPlan plan = scene_.mix.network;
  plan.seed = KeyedHash(plan.seed, who, life_);
  plan.clock = &clock_;
  plan.flip_probability = damage;
  plan.most_flips = session::DamageBook::kMostTimes - 1;  // more are no chance, and end it
  auto client = std::make_unique<WatchedTransport>(&scene_, who, plan, std::move(seen));
  transports_.push_back(client.get());
  return client;
}

// Once a disk has ended the run, others that have ended may be why it cannot go on.
void SimulatedProcess::EndBecause(const std::string& words) {
  scene_.Tell(StrCat(name_, " ends: ", words));
  if (is_replaced_) {
    has_ended_ = true;
    return;
  }
  const auto says = [&](const char* text) { return words.find(text) != std::string::npos; };
  const bool is_of_disk = says("No space left on device");
  scene_.has_disk_failed = scene_.has_disk_failed || is_of_disk;
  const bool follows = scene_.has_disk_failed && says("all trainers are gone");
  if (scene_.mix.disk_failure == 0 || (!is_of_disk && !follows)) {
    return scene_.Violate(StrCat(name_, " ends: ", words));
  }
  has_failed_ = true;
}

void SimulatedProcess::SetClock() {
  const uint64_t drawn = KeyedHash(scene_.mix.network.seed, name_.size(), name_.back(), life_);
  const uint64_t up_ms = drawn % 10'000'000;
  clock_.Advance(1'000'000 + static_cast<int64_t>(up_ms) - clock_.NowMs());
}

}  // namespace weir::simulation
