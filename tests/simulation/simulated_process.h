// What every simulated process has of its own: a time, which may stand still for it, a life, and
// when the next one begins.
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/environment.h"
#include "tests/simulation/simulated_disk.h"
#include "tests/simulation/watched_transport.h"
#include "tests/support/manual_executor.h"

namespace weir::simulation {

class SimulatedProcess {
 public:
  virtual ~SimulatedProcess() = default;

  void Advance(int64_t duration_ms) { clock_.Advance(duration_ms); }
  void JumpAhead(int64_t jump_ms);  // of its machine's clock
  bool is_alive() const { return is_alive_; }
  // Whether it does what it is there for, so that something may befall it.
  virtual bool is_at_work() const { return is_alive_; }
  // Whether it has ended in the midst of what it did, or with a message that a fault explains, so
  // that it is to be started again.
  virtual bool has_crashed() const { return false; }
  bool has_failed() const { return has_failed_; }
  // What others may hold against it.
  bool was_harmed() const { return was_harmed_; }
  void Begin();
  // In which it may be started again once something has ended it.
  virtual int64_t longest_absence_ms() const { return kSoonMs; }
  // machine: what chance has left of its machine's memory; null where that goes on.
  void Die(int64_t for_ms, RandomStream* machine);
  // In the place of another, which was taken for dead.
  void BeginAt(int64_t time_ms) { begins_ms_ = time_ms, was_harmed_ = true; }
  // Another is in its place; so it may end, and then is not started again.
  void BeReplaced() { is_replaced_ = true; }
  bool is_replaced() const { return is_replaced_; }
  bool has_ended() const { return has_ended_; }
  int64_t stood_until_ms() const { return stands_until_ms_; }
  // If it is away, it comes again by then.
  void ComeBackBy(int64_t time_ms) { begins_ms_ = std::min(begins_ms_, time_ms); }
  // It does nothing for so long; others do.
  void StandStill(int64_t for_ms);
  void Look() {
    if (!is_alive_ && scene_.now_ms >= begins_ms_) Begin();
    if (is_alive_ && scene_.now_ms >= stands_until_ms_) Step();
  }
  // Addresses to which it has connections.
  virtual uint64_t peer_count() const { return scene_.mix.servers; }
  virtual std::string Peer(uint64_t number) const { return scene_.addresses[number]; }
  void CutFrom(const std::string& address, int64_t for_ms);

 protected:
  SimulatedProcess(Scene* scene, std::string name)
      : scene_(*scene), name_(std::move(name)), files_(scene->mix.plant) {
    SetClock();
  }
  virtual void Start() = 0;
  virtual void Kill(RandomStream* machine) = 0;
  virtual void Step() = 0;

  Environment environment() {
    return {.clock = clock_,
            .nonce = [this] { return ++scene_.names; },
            .files = files_,
            .executor = *executor_};
  }
  // damage: the chance of each message.
  std::unique_ptr<transport::ClientTransport> MakeClient(uint64_t who, WatchedTransport::Seen seen,
                                                         double damage = 0);
  void HealIfDue();
  void Silence() {
    for (WatchedTransport* transport : transports_) transport->Silence();
  }
  // Before what owns them goes.
  void ForgetTransports() {
    transports_.clear();
    cuts_.clear();
  }
  uint64_t life() const { return life_; }
  // It ends with these words, which only a disk that failed allows.
  void EndBecause(const std::string& words);
  // The disk keeps it waiting.
  void WaitFor(int64_t duration_ms) {
    stands_until_ms_ = std::max(stands_until_ms_, scene_.now_ms + duration_ms);
  }

  Scene& scene_;
  const std::string name_;
  ManualClock clock_;
  SimulatedDisk files_;
  std::unique_ptr<test::ManualExecutor> executor_;  // of this life

 private:
  // That of a machine counts from when it was started.
  void SetClock();

  bool is_alive_ = false, has_failed_ = false, was_harmed_ = false;
  bool is_replaced_ = false, has_ended_ = false;
  uint64_t life_ = 0;
  int64_t begins_ms_ = 0, stands_until_ms_ = 0;
  std::map<std::string, int64_t> cuts_;  // until when, of each address
  std::vector<WatchedTransport*> transports_;
};

}  // namespace weir::simulation
