// Who takes part in the run: incarnations, the membership epoch, and who has gone silent. A pure
// state machine.
//
// A trainer's stage is a seat. A process that joins gets the seat's next incarnation; whatever an
// older incarnation still says is refused. A seat is free again when its member has left or has not
// been heard of for member_timeout_ms, or for less when another process asks for it, least when its
// connection has ended; so two processes started for one seat by mistake do not fight, and who
// comes back soon gets its own.
//
// Place in the life of a batch: before it; only members are lent input.
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/cluster/saved_map.h"

namespace weir::cluster {

struct Seat {
  uint32_t trainer = 0;
  uint32_t stage = 0;
  auto operator<=>(const Seat&) const = default;  // NOLINT(modernize-use-nullptr)
  static void Fields(auto& self, auto& state) { state(self.trainer, self.stage); }
};

// "trainer 3", "trainer 3 stage 1".
std::string Name(Seat seat);

class Membership {
 public:
  // Who is silent for so long loses its seat to another process that asks for it: workers are heard
  // of every second.
  static constexpr int64_t kClaimedSilenceMs = 2000;
  // The same of one whose connection has ended: who lives makes another at once. And of one that
  // has not been heard of since this life of the coordinator began: it looks for it twice a second.
  static constexpr int64_t kPartedMs = 300, kLostMs = 1000;

  explicit Membership(int64_t member_timeout_ms) : member_timeout_ms_(member_timeout_ms) {}

  struct Admission {
    uint64_t incarnation = 0;  // 0: the seat is taken
    uint64_t epoch = 0;
    int64_t silent_ms = 0;  // of the member that holds the seat ...
    int64_t wait_ms = 0;    // ... and for how much longer it must be so, until another gets it
  };
  // nonce: of the asking process; a repeated request gets the same answer.
  Admission Join(Seat seat, uint64_t nonce, int64_t now_ms);

  // False when this incarnation is not (or no longer) a member.
  bool Heard(Seat seat, uint64_t incarnation, int64_t now_ms);

  // Its connection has ended, behind all that was heard over it.
  void Parted(Seat seat, uint64_t incarnation, int64_t now_ms);

  void Leave(Seat seat);

  // Removes and returns the members that were silent for too long.
  std::vector<Seat> Expire(int64_t now_ms);

  bool IsMember(Seat seat) const;
  // Of the process that was let in last, whether it is still there or not; 0: none.
  uint64_t LastIncarnation(Seat seat) const;
  template <typename Visit>  // (Seat, its last incarnation)
  void ForEachSeat(const Visit& visit) const {
    for (const auto& [seat, member] : members_) visit(seat, member.incarnation);
  }
  size_t member_count() const;
  uint64_t epoch() const { return epoch_; }

  // Whose last word was when is not saved: who is loaded counts as heard of then.
  void SaveChanges(SavedParts* parts);
  Status Load(PartSource* source, int64_t now_ms);

 private:
  struct Member {
    uint64_t nonce = 0;
    uint64_t incarnation = 0;
    int64_t heard_ms = 0;
    bool present = false;
    std::optional<int64_t> claimable_ms = {};  // from when on, unless it is heard of
    static void Fields(auto& self, auto& state) {
      state(self.nonce, self.incarnation, self.present);
    }
  };

  int64_t ClaimableMs(const Member& member) const;

  const int64_t member_timeout_ms_;
  uint64_t epoch_ = 0;
  WholePart saved_epoch_{"members"};
  SavedMap<Seat, Member> members_{"member"};  // seats ever taken
};

}  // namespace weir::cluster
