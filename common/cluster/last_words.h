// Whose last report a run that has finished waits for, so that its final report counts all: of
// those who were lent work, or could have been, and have neither reported since nor gone.
//
// Place in the life of a batch: after the last.
// Thread rule: owner thread only (the coordinator's).
#pragma once

#include <cstdint>
#include <optional>

#include "common/cluster/membership.h"
#include "common/cluster/saved_map.h"

namespace weir::cluster {

class LastWords {
 public:
  // How long others wait for one who says nothing.
  static constexpr int64_t kLongestMs = 2000;

  // It has asked for work.
  void Expect(Seat seat) { awaited_.Add(seat); }
  void Say(Seat seat, int64_t now_ms) {
    if (!first_ms_) first_ms_ = now_ms;
    awaited_.Erase(seat);
  }
  void Forget(Seat seat) { awaited_.Erase(seat); }

  // Once somebody has said his.
  bool AreAwaited(int64_t now_ms) const {
    return !awaited_.empty() && now_ms - first_ms_.value_or(now_ms) <= kLongestMs;
  }

  void SaveChanges(SavedParts* parts) {
    saved_first_.SaveChanges(first_ms_, parts);
    awaited_.SaveChanges(parts);
  }
  Status Load(PartSource* source) {
    WEIR_RETURN_IF_ERROR(saved_first_.Load(source, &first_ms_));
    return awaited_.Load(source);
  }

 private:
  SavedMap<Seat, Listed> awaited_{"last_word"};
  std::optional<int64_t> first_ms_;
  WholePart saved_first_{"first_last_word"};
};

}  // namespace weir::cluster
