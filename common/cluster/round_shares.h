// What trainers of a run in rounds are lent: for each block (block_book.h) a chunk each, in the
// order of their numbers, once all have asked. A pure state machine; the chunks are the caller's
// (lease_book.h).
//
// Place in the life of a batch: **lease** -> read -> parse -> ...
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "common/base/function_ref.h"
#include "common/cluster/block_book.h"
#include "common/cluster/membership.h"
#include "common/cluster/saved_map.h"
#include "common/proto/protocol.pb.h"

namespace weir::cluster {

class RoundShares {
 public:
  // As BlockBook has them.
  RoundShares(uint32_t first_trainer_count, uint64_t rounds_per_block)
      : blocks_(first_trainer_count, rounds_per_block) {}

  // The member wants a chunk, if it has got the last one. Once all do, lend(member) is called for
  // each of them, in order, and gives one, or nothing when there is none. True if that was so and
  // anybody got one.
  using Lend = FunctionRef<std::optional<v1::ChunkLease>(Seat)>;
  bool Ask(Seat member, Lend lend);
  // What it was lent and has not got yet, with the rounds that it is for. oldest_lease: that is
  // lent to anybody; who begins waits until those of earlier blocks are finished, and so their
  // rounds.
  std::optional<v1::ChunkLease> Take(Seat member, uint64_t oldest_lease);

  // It is gone, and with it what it had not got. True if rounds would have waited for it.
  bool Leave(Seat member);
  // Of each trainer of whom that was ever so the last.
  std::vector<v1::Departure> departures() const;

  // While the first block waits: how many trainers are there, of how many that it waits for.
  struct Start {
    size_t present = 0, wanted = 0;
  };
  std::optional<Start> awaited_start() const;

  // Of another run: nobody has been there.
  void BeginAnew() {
    blocks_.BeginAnew();
    shares_.Clear();
    departures_.Clear();
  }

  void SaveChanges(SavedParts* parts);
  Status Load(PartSource* source);

 private:
  struct Share {
    v1::ChunkLease lease;
    uint64_t first_lease = 0;  // of its block
    static void Fields(auto& self, auto& state) { state(self.lease, self.first_lease); }
  };

  void Open(std::map<Seat, v1::ChunkLease> leases);

  BlockBook blocks_;
  WholePart saved_blocks_{"blocks"};
  SavedMap<Seat, Share> shares_{"share"};
  SavedMap<uint32_t, uint64_t> departures_{"departure"};  // by trainer: the last round with it
};

}  // namespace weir::cluster
