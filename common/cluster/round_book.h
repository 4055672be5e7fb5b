// Of one server: which trainers push together, round after round, and when a round is whole. A pure
// state machine; whoever asks it keeps the pushes.
//
// A push says its round and who else is in it (block_book.h), so that servers need not ask one
// another. A round is whole when all of them have pushed but those who are known to be gone: the
// last round of who dies may have his push at one server and not at another. Rounds close in their
// order; who joins may push one that is behind those at work, and waits there. A push that is kept
// is not taken yet: a worker whose connection breaks pushes it again (Drop).
//
// Place in the life of a batch: push -> **wait for the others** -> number -> strands -> answers.
// Thread rule: owner thread only (the server's I/O thread).
// Source: synchronous rounds as in Chen et al. 2016 (Revisiting Distributed Synchronous SGD),
// without backup workers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace weir::cluster {

class RoundBook {
 public:
  enum class Verdict {
    kKept,          // in the place of an earlier one of this trainer, if there was one
    kLate,          // the round has closed; it was left out
    kNoMember,      // it is not among those that it names
    kOtherMembers,  // others have named others
  };
  // members: trainers, ascending, each once; at least one.
  Verdict Take(uint32_t trainer, uint64_t round, const std::vector<uint32_t>& members);

  // What it has pushed is not kept any more: it is on its way again, or will never be.
  void Drop(uint32_t trainer);

  // It is gone, and no round up to this one waits for it; what it pushed for one counts.
  void Leave(uint32_t trainer, uint64_t last_round);

  struct Round {
    uint64_t number = 0;
    std::vector<uint32_t> trainers;  // who has pushed, ascending
  };
  // The next round that is whole, once.
  std::optional<Round> Close();

  // For whom the oldest round that somebody has pushed for waits, ascending.
  std::vector<uint32_t> Awaited() const;
  uint64_t last_closed() const { return last_closed_; }
  // Rounds up to this one have closed, in another life.
  void GoOnAfter(uint64_t round) { last_closed_ = round; }

  // Without the rounds that are open: what is kept for them is pushed again.
  static void Fields(auto& self, auto& state) { state(self.last_closed_, self.gone_until_); }

 private:
  struct Open {
    std::vector<uint32_t> members;
    std::set<uint32_t> pushed;
  };

  bool IsAwaited(uint64_t round, const Open& open, uint32_t trainer) const;

  uint64_t last_closed_ = 0;
  std::map<uint64_t, Open> open_;            // that somebody has pushed for
  std::map<uint32_t, uint64_t> gone_until_;  // by trainer: the last round without it
};

}  // namespace weir::cluster
