// Which chunk of the input goes to whom: lends chunks in their order (chunk_order.h), with where
// they begin, takes back what a dead trainer left unfinished, and knows when all of it is done. A
// pure state machine.
//
// Nobody knows beforehand how many chunks a file has: the trainer that meets its end says so
// (LearnEnd). Until then chunks past the end may be lent; they come back empty.
//
// Place in the life of a batch: **lease** -> read -> parse -> ...
// Thread rule: owner thread only (the coordinator's, or the embedded worker's input thread).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "common/cluster/chunk_order.h"
#include "common/cluster/chunk_places.h"
#include "common/cluster/membership.h"
#include "common/cluster/saved_map.h"
#include "common/proto/protocol.pb.h"

namespace weir::cluster {

struct Lease {
  ChunkKey key;
  uint64_t first_row = 0;  // rows before it were finished under an earlier lease
  static void Fields(auto& self, auto& state) { state(self.key, self.first_row); }
};

class LeaseBook {
 public:
  // One or more passes over file_count files.
  LeaseBook(v1::InputSplit split, uint32_t file_count, uint32_t epoch_count,
            uint64_t lines_per_chunk = 1);

  // Before any chunk is lent.
  void SetFileCount(uint32_t file_count);
  // The next chunk for this member; nothing when all are lent (some may come back). Without
  // wants_next.
  std::optional<v1::ChunkLease> Lend(Seat member);

  // The member has finished the lease. Returns it as it was lent; nothing for an unknown one, for
  // example one that was given to another meanwhile.
  std::optional<Lease> Finish(Seat member, uint64_t lease_id);

  // The first `row` rows of the lease are finished: if the member dies, the next starts there.
  void Advance(Seat member, uint64_t lease_id, uint64_t row);

  // A file has this many chunks at most. And: this chunk of it has rows. Both return false if that
  // contradicts what others have met: then members read different files.
  bool LearnEnd(uint32_t file, uint64_t chunk_count);
  bool LearnRows(const ChunkKey& key);
  // See ChunkPlaces.
  bool LearnPlace(uint32_t file, const v1::ChunkPlace& place) { return places_.Learn(file, place); }
  // The member is asked to tell where the chunk behind this one begins, if that is not known, and
  // it may be one.
  void AskForNext(Seat member, v1::ChunkLease* lease);
  // It has told, or will not. Returns whether it was to.
  bool TakeWord(Seat member) { return tellers_.Erase(member); }
  // Whether somebody is looking for where the member's next chunk begins.
  bool IsLookedFor(Seat member);

  // The member is gone: its leases will be lent again, from where they were finished. Returns the
  // rows that it had finished in them.
  uint64_t TakeBack(Seat member);
  bool IsLentTo(Seat member) const { return lent_counts_.contains(member); }
  uint64_t CountOf(Seat member) const;
  // Members that have a lease.
  size_t member_count() const { return lent_counts_.size(); }

  // Starts over with the first chunk of the first epoch; what was learned of file ends stays.
  void Restart();

  bool has_lent() const { return next_id_ > 1; }
  size_t lent_count() const { return lent_.size(); }
  // The number of the oldest lease that is; without one, more than any.
  uint64_t oldest_lent() const { return lent_.empty() ? UINT64_MAX : lent_.begin()->first; }
  // Every chunk was lent and finished.
  bool done() const { return lent_.empty() && returned_.empty() && exhausted(); }
  // Nothing is left to lend, though some may still be at work.
  bool exhausted() const { return returned_.empty() && order_.exhausted(); }
  // Chunks of one epoch, when the ends of all files are known.
  std::optional<uint64_t> chunks_per_epoch() const { return order_.chunks_per_epoch(); }
  uint32_t file_count() const { return order_.file_count(); }

  // Who is loaded lends the same chunks next.
  void SaveChanges(SavedParts* parts);
  Status Load(PartSource* source);
  static void Fields(auto& self, auto& state) { state(self.next_id_, self.returned_); }

 private:
  struct Lent {
    Seat member;
    Lease lease;
    uint64_t lent_from_row = 0;
    static void Fields(auto& self, auto& state) {
      state(self.member, self.lease, self.lent_from_row);
    }
    bool IsSound() const { return lease.first_row >= lent_from_row; }
  };

  v1::ChunkLease MakeMessage(uint64_t id, const Lease& lease) const;
  void CountReturned(Seat member);
  void ForgetPastEnds();
  bool HoldsTogether() const;

  v1::InputSplit split_;
  ChunkOrder order_;
  ChunkPlaces places_;
  SavedMap<uint32_t, uint64_t> chunks_with_rows_{"rows"};  // by file: up to the last one met
  uint64_t next_id_ = 1;
  SavedMap<uint64_t, Lent> lent_{"lent"};
  std::map<Seat, uint64_t> lent_counts_;  // of who has any
  std::deque<Lease> returned_;
  SavedMap<Seat, ChunkKey> tellers_{"teller"};  // and where which chunk begins, of some pass
  WholePart saved_leases_{"leases"};
};

}  // namespace weir::cluster
