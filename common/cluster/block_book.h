// Of the coordinator: which trainers take part in the rounds to come. A block is as many rounds as
// a chunk has batches; each of its members is lent one chunk of it, in the order of their numbers,
// and is in all of its rounds. So who takes part changes between blocks alone, and which rows a
// round has does not depend on who asked first. A pure state machine.
//
// Place in the life of a batch: **lease** -> ... -> push -> the round's others (round_book.h).
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace weir::cluster {

struct Block {
  uint64_t first_round = 0, round_count = 0;
  std::vector<uint32_t> members;  // trainers, ascending

  uint64_t last_round() const { return first_round + round_count - 1; }
};

class BlockBook {
 public:
  // The first block waits until so many trainers are there.
  BlockBook(uint32_t first_trainer_count, uint64_t rounds_per_block)
      : first_trainer_count_(first_trainer_count), rounds_per_block_(rounds_per_block) {}

  // A trainer is there, and is asked for from the next block on. One that comes back has left.
  void Join(uint32_t trainer) { present_.insert(trainer); }
  // It is gone. Returns the last round that may wait for it; 0: none does.
  uint64_t Leave(uint32_t trainer);

  // It wants its part of the next block; again changes nothing.
  void Ask(uint32_t trainer);

  // Trainers of the next block, ascending, once all who are there have asked.
  std::optional<std::vector<uint32_t>> Ready() const;
  // They have got theirs: those of them for whom there was anything, ascending, at least one.
  Block Open(std::vector<uint32_t> members);

  void BeginAnew() {
    next_round_ = 1;
    present_.clear();
    asked_.clear();
    last_rounds_.clear();
  }

  bool has_begun() const { return next_round_ > 1; }
  size_t present_count() const { return present_.size(); }
  size_t first_trainer_count() const { return first_trainer_count_; }

  static void Fields(auto& self, auto& state) {
    state(self.next_round_, self.present_, self.asked_, self.last_rounds_);
  }
  bool IsSound() const { return next_round_ > 0 && std::ranges::includes(present_, asked_); }

 private:
  const uint32_t first_trainer_count_;
  const uint64_t rounds_per_block_;
  uint64_t next_round_ = 1;
  std::set<uint32_t> present_, asked_;
  std::map<uint32_t, uint64_t> last_rounds_;  // by trainer: of the last block that it was in
};

}  // namespace weir::cluster
