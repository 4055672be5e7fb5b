// What every simulated process has of its own: a time, which may stand still for it, a life, and
// when the next one begins.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "common/base/environment.h"
#include "tests/simulation/watched_transport.h"
#include "tests/support/manual_executor.h"
#include "tests/support/memory_files.h"

namespace weir::simulation {

class SimulatedProcess {
 public:
  virtual ~SimulatedProcess() = default;

  void Advance(int64_t duration_ms) { clock_.Advance(duration_ms); }
  bool is_alive() const { return is_alive_; }
  // Whether it does what it is there for, so that something may befall it.
  virtual bool is_at_work() const { return is_alive_; }
  void Begin() {
    is_alive_ = true;
    ++life_;
    executor_ = std::make_unique<test::ManualExecutor>(scene_.mix.network.seed + life_);
    scene_.Trace(100 + life_);
    scene_.Tell(StrCat(name_, " begins"));
    Start();
  }
  void Die(int64_t for_ms, RandomStream* random) {
    is_alive_ = false;
    begins_ms_ = scene_.now_ms + for_ms;
    scene_.Trace(10);
    scene_.Tell(StrCat(name_, " dies for ", for_ms));
    Kill(random);
    executor_.reset();
  }
  // It does nothing for so long; others do.
  void StandStill(int64_t for_ms) {
    scene_.Tell(StrCat(name_, " stands still for ", for_ms));
    stands_until_ms_ = scene_.now_ms + for_ms;
  }
  void Look() {
    if (!is_alive_ && scene_.now_ms >= begins_ms_) Begin();
    if (is_alive_ && scene_.now_ms >= stands_until_ms_) Step();
  }
  void CutFrom(const std::string& address, int64_t for_ms) {
    if (transport_ == nullptr || !is_alive_) return;
    scene_.Tell(StrCat(name_, " is cut from ", address, " for ", for_ms));
    transport_->faulty().Cut(address);
    heals_ms_ = scene_.now_ms + for_ms;
  }

 protected:
  SimulatedProcess(Scene* scene, std::string name) : scene_(*scene), name_(std::move(name)) {
    clock_.Advance(1'000'000);  // as that of a machine that has run for a while
  }
  virtual void Start() = 0;
  virtual void Kill(RandomStream* random) = 0;
  virtual void Step() = 0;

  Environment environment() {
    return {.clock = clock_,
            .nonce = [this] { return ++scene_.names; },
            .files = files_,
            .executor = *executor_};
  }
  std::unique_ptr<transport::ClientTransport> MakeClient(uint64_t who,
                                                         WatchedTransport::Seen seen) {
    transport::FaultPlan plan = scene_.mix.network;
    plan.seed = KeyedHash(plan.seed, who, life_);
    plan.clock = &clock_;
    auto client = std::make_unique<WatchedTransport>(&scene_, plan, std::move(seen));
    transport_ = client.get();
    return client;
  }
  void HealIfDue() {
    if (!heals_ms_ || scene_.now_ms < *heals_ms_) return;
    transport_->faulty().Heal();
    heals_ms_.reset();
  }
  void Silence() {
    if (transport_ != nullptr) transport_->Silence();
  }
  // Before what owns it goes.
  void ForgetTransport() {
    transport_ = nullptr;
    heals_ms_.reset();
  }
  uint64_t life() const { return life_; }

  Scene& scene_;
  const std::string name_;
  ManualClock clock_;
  test::MemoryFiles files_;
  std::unique_ptr<test::ManualExecutor> executor_;  // of this life

 private:
  bool is_alive_ = false;
  uint64_t life_ = 0;
  int64_t begins_ms_ = 0, stands_until_ms_ = 0;
  std::optional<int64_t> heals_ms_;
  WatchedTransport* transport_ = nullptr;
};

}  // namespace weir::simulation
