// Whether the model of a run is saved by whoever is to save it, a worker or the servers themselves,
// once the run has ended well: what was learned would be gone with the servers. A pure state
// machine.
//
// Place in the life of a batch: after the last one.
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace weir::cluster {

class SaverWatch {
 public:
  // timeout_ms: how long a saver that is not there has to come.
  explicit SaverWatch(int64_t timeout_ms) : timeout_ms_(timeout_ms) {}

  // A worker has joined. expects_model: some worker, this one or another before or after it, saves
  // the model, or leaves something beside it.
  void OnJoin(bool expects_model);
  // One that was to save it could not: another may come.
  void OnFailure(std::string reason) { last_failure_ = std::move(reason); }
  void OnSaved() { is_saved_ = true; }
  // The servers are to save it, whatever workers do; and they have. Of their time others judge.
  void ServersSave() { servers_save_ = true; }
  void OnServersSaved() { is_saved_ = servers_have_saved_ = true; }
  // The run has ended well, or not yet (is_over); somebody who saves is there, or not.
  void Tick(bool is_over, bool has_saver, int64_t now_ms);
  // Nobody will save it. The first reason counts.
  void Lose(std::string reason);

  // Somebody is to save it, and has not.
  bool awaits() const { return (is_expected_ && !is_saved_) || awaits_servers(); }
  bool awaits_servers() const { return servers_save_ && !servers_have_saved_; }
  bool servers_save() const { return servers_save_; }
  bool saved() const { return is_saved_; }
  // Why nobody will, though the run ended well; empty while somebody may.
  const std::string& loss() const { return loss_; }

  // That the servers are to save it is whoever's who starts them again.
  static void Fields(auto& self, auto& state) {
    state(self.is_expected_, self.is_saved_, self.servers_have_saved_);
    state(self.missing_since_ms_, self.last_failure_, self.loss_);
  }

 private:
  const int64_t timeout_ms_;
  bool is_expected_ = false, is_saved_ = false;
  bool servers_save_ = false, servers_have_saved_ = false;
  std::optional<int64_t> missing_since_ms_;  // only a saver is waited for that is absent
  std::string last_failure_;
  std::string loss_;
};

}  // namespace weir::cluster
