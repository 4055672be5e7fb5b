// A server as weir-server has it, with the reporter of its shard and a disk, in lives that end.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "server/server.h"
#include "server/shard_reporter.h"
#include "tests/simulation/simulated_process.h"

namespace weir::simulation {

class SimulatedServer final : public SimulatedProcess {
 public:
  SimulatedServer(Scene* scene, uint32_t shard)
      : SimulatedProcess(scene, StrCat("server ", shard)), shard_(shard) {}
  ~SimulatedServer() override {
    reporter_.reset();  // before the server, which it calls
    server_.reset();
  }

  // How it has ended by itself.
  const std::optional<Status>& outcome() const { return outcome_; }
  bool is_serving() const {
    return is_alive() && server_ != nullptr && server_->is_loaded() && !outcome_;
  }
  // From its n-th change on, counted from now, nothing can be written; for so long.
  void FailDisk(uint64_t change, int64_t for_ms) {
    scene_.Tell(StrCat(name_, " has a disk that fails from change ", change, " on for ", for_ms));
    files_.FailFrom(change);
    disk_heals_ms_ = scene_.now_ms + for_ms;
  }
  // It ends in the midst of that change, of which perhaps a part is done.
  void CrashAt(uint64_t change) {
    files_.FailFrom(change);
    crashes_ = true;
  }
  bool has_crashed() const override { return crashes_ && files_.has_failed(); }
  uint64_t disk_changes() const { return files_.changes(); }
  server::Shard& shard() { return server_->shard(); }

 protected:
  void Start() override;
  void Kill(RandomStream* machine) override;
  void Step() override;

 private:
  std::unique_ptr<transport::ServerTransport> MakeTransport();
  void StartReporter();
  void HealDiskIfDue();
  void End();  // by itself
  void Clear();
  // One after another; a server that forgets itself has the same in each life.
  Environment OwnEnvironment();

  const uint32_t shard_;
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<server::ShardReporter> reporter_;
  std::optional<Status> outcome_;
  std::optional<int64_t> disk_heals_ms_;
  bool crashes_ = false, was_over_ = false;
};

}  // namespace weir::simulation
