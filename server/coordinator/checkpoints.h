// The checkpoints of a run, as its coordinator has them written: when training stands still for one
// (RunDirector), what becomes of it (CheckpointBook), and the state of the run that goes into it.
//
// Place in the life of a batch: beside all of it.
// Thread rule: owner thread only (the coordinator's). Borrows the run's book.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/cluster/membership.h"
#include "common/cluster/run_book.h"
#include "common/cluster/saved_parts.h"
#include "common/proto/config.pb.h"
#include "common/proto/protocol.pb.h"
#include "common/proto/saved_model.pb.h"
#include "server/coordinator/checkpoint_book.h"

namespace weir::server {

class Checkpoints {
 public:
  Checkpoints(const v1::Config& config, uint32_t server_count, cluster::RunBook* run);

  // From now on there are some.
  struct Beginning {
    uint64_t last_number = 0;  // of those that are there
    uint64_t lineage = 0;      // v1::CheckpointFacts'
  };
  void Start(const Beginning& beginning);
  // There are none any more: training goes on without the one that it waited for.
  void Skip();
  // Of a run that begins: it goes on from one. InvalidData when that is of no use.
  Status Resume(const cluster::PartMap& run);

  // What a worker says of one, and wants. And what it is told.
  void Take(cluster::Seat seat, const v1::WorkRequest& request);
  void Fill(cluster::Seat seat, v1::WorkReply* reply) const;
  void Leave(cluster::Seat seat) { book_.Leave(seat); }
  bool HasPutAside(cluster::Seat seat) const { return book_.HasPutAside(seat); }

  // The one whose folder server 0 is to make; 0: none. And that it is there.
  uint64_t awaits_folder() const { return book_.has_folder() ? 0 : book_.number(); }
  void OnFolder();
  void TakePart(uint32_t server, const v1::PartReport& part) { book_.TakePart(server, part); }
  // All is on disk but these two.
  struct Whole {
    v1::SavedModelManifest manifest;
    cluster::PartMap run;
  };
  std::optional<Whole> TakeWhole();
  // It is on disk; or cannot be, and is given up.
  void OnDone();
  void Fail(std::string why) { book_.Fail(std::move(why)); }
  bool is_at_work() const { return book_.number() > 0; }
  // All of it is put aside, and trainers are not needed any more.
  bool is_closing() const { return is_at_work() && book_.is_cut(); }
  // Whether there is anything that the last one lacks.
  bool has_news() const { return is_at_work() || director_.has_news(); }

  void Want() { director_.WantCheckpoint(); }
  // all_have_put_aside: whoever has a part in it.
  void Step(bool all_have_put_aside, int64_t now_ms);

  // As RunBook's SaveChanges and Load, which are these.
  void SaveRun(cluster::SavedParts* parts);
  Status LoadRun(cluster::PartSource* source);

 private:
  void BeginIfItMay(int64_t now_ms);
  void End(uint64_t number);
  void CatchUp();

  const int64_t every_ms_;
  cluster::RunBook& run_;
  cluster::RunDirector& director_;
  CheckpointBook book_;
  bool has_started_ = false;
  uint64_t lineage_ = 0;
  std::optional<int64_t> last_ms_;  // when the last one began
  int64_t now_ms_ = 0;              // when Step was called last
  cluster::PartMap of_run_;         // of the one that is at work

  // All that was saved of the run, and what of it has not gone where that goes to.
  bool mirrors_ = false, is_saved_ = false;
  cluster::KeptParts kept_;
  cluster::PartMap unsaved_;
};

}  // namespace weir::server
