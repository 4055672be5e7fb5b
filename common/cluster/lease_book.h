// Which chunk of the input goes to whom: lends the chunks of one pass in order, takes back what a
// dead trainer left unfinished, and knows when all of it is done. A pure state machine.
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
#include <vector>

#include "common/cluster/membership.h"
#include "common/proto/protocol.pb.h"

namespace weir::cluster {

struct ChunkKey {
  uint32_t epoch = 0;
  uint32_t file = 0;
  uint64_t chunk = 0;
  auto operator<=>(const ChunkKey&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct Lease {
  ChunkKey key;
  uint64_t first_row = 0;  // rows before it were finished under an earlier lease
};

class LeaseBook {
 public:
  // One or more passes over file_count files.
  LeaseBook(v1::InputSplit split, uint32_t file_count, uint32_t epoch_count);

  // The next chunk for this member; nothing when all are lent (some may come back).
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

  // The member is gone: its leases will be lent again, from where they were finished. Returns the
  // rows that it had finished in them.
  uint64_t TakeBack(Seat member);
  bool IsLentTo(Seat member) const { return lent_counts_.contains(member); }
  // Members that have a lease.
  size_t member_count() const { return lent_counts_.size(); }

  // Starts over with the first chunk of the first epoch; what was learned of file ends stays.
  void Restart();

  bool has_lent() const { return next_id_ > 1; }
  size_t lent_count() const { return lent_.size(); }
  // Every chunk was lent and finished.
  bool done() const { return lent_.empty() && returned_.empty() && exhausted(); }
  // Nothing is left to lend, though some may still be at work.
  bool exhausted() const;
  // Its file is known to have no such chunk.
  bool IsPastEnd(const ChunkKey& key) const;
  // Chunks of one epoch, when the ends of all files are known.
  std::optional<uint64_t> chunks_per_epoch() const;

 private:
  struct Lent {
    Seat member;
    Lease lease;
    uint64_t lent_from_row = 0;
  };

  void CountReturned(Seat member);
  void SkipPastEnds(ChunkKey& key) const;

  v1::InputSplit split_;
  uint32_t file_count_;
  uint32_t epoch_count_;
  std::vector<std::optional<uint64_t>> chunk_counts_;  // per file, once its end was met
  std::vector<uint64_t> chunks_with_rows_;             // per file: up to the last one met
  ChunkKey next_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, Lent> lent_;
  std::map<Seat, uint64_t> lent_counts_;  // of who has any
  std::deque<Lease> returned_;
};

}  // namespace weir::cluster
