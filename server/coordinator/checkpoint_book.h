// A checkpoint as it comes to be, as the coordinator sees it: trainers have all servers write their
// parameters down, and put what their policies have not sent aside; once all have, training goes
// on, and all of that is written; then the manifest. One that fails is given up: the last one
// stays, and the next one comes. A pure state machine.
//
// Place in the life of a batch: beside all of it.
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "common/cluster/membership.h"
#include "common/proto/protocol.pb.h"
#include "common/proto/saved_model.pb.h"

namespace weir::server {

class CheckpointBook {
 public:
  // For how long nothing may happen to one: others wait for it, and the next one comes.
  static constexpr int64_t kPatienceMs = 30000;

  explicit CheckpointBook(uint32_t server_count) : server_count_(server_count) {}

  // Of what was trained so far. None is at work.
  void Begin(v1::CheckpointFacts facts, int64_t now_ms);
  // 0: none is at work.
  uint64_t number() const { return facts_.number(); }
  // Its folder is there: trainers may be told of it.
  void OnFolder() { has_folder_ = true; }
  bool has_folder() const { return number() > 0 && has_folder_; }

  // Of a worker, which has put aside what is its own, or written it.
  void Take(cluster::Seat seat, const v1::CheckpointWord& word);
  bool HasPutAside(cluster::Seat seat) const { return seats_.contains(seat); }
  bool has_any() const { return !seats_.empty(); }
  // What it has not written goes with it.
  void Leave(cluster::Seat seat);
  void TakePart(uint32_t server, const v1::PartReport& part);
  // All that is of it is put aside.
  void Cut() { is_cut_ = true; }
  bool is_cut() const { return is_cut_; }

  // All is on disk but the manifest, which is to be made of it, once.
  bool TakeWhole();
  v1::SavedModelManifest Manifest() const;

  // It is given up, or on disk.
  void Fail(std::string why);
  void Finish() { facts_.Clear(); }
  // Fails one to which nothing has happened for long. Why one was given up, once.
  std::optional<std::string> TakeFailure(int64_t now_ms);

 private:
  struct Seat {
    bool is_written = false;
  };
  uint64_t progress() const;
  std::string DescribeLate() const;

  const uint32_t server_count_;
  v1::CheckpointFacts facts_;
  bool has_folder_ = false, is_cut_ = false, is_whole_ = false;
  std::map<cluster::Seat, Seat> seats_;
  std::map<uint32_t, v1::PartReport> parts_;
  std::optional<std::string> failure_;
  uint64_t last_progress_ = 0;
  int64_t progress_ms_ = 0;
};

}  // namespace weir::server
