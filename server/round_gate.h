// What trainers of a run in rounds (consistency.sync) send for one, kept until all of it is there:
// their pushes, and before these what they propose.
//
// Place in the life of a batch: push -> **wait for the others** -> number -> strands -> answers.
// Thread rule: I/O thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/cluster/round_book.h"
#include "common/proto/protocol.pb.h"
#include "common/transport/transport.h"

namespace weir::server {

// Who has sent something for which round, of whom.
struct RoundSender {
  uint32_t trainer = 0;
  transport::PeerId peer;
  uint32_t connection = 0;
  uint64_t round = 0;
  std::vector<uint32_t> members;  // ascending
};

// Of header messages Push and Proposal.
template <typename Message>
RoundSender SenderOf(uint32_t trainer, const transport::PeerId& peer, const Message& message) {
  return {.trainer = trainer,
          .peer = peer,
          .connection = message.connection(),
          .round = message.round(),
          .members = {message.members().begin(), message.members().end()}};
}

// Why it is not kept, to whoever sent it. what: "push".
Status WhyNotKept(cluster::RoundBook::Verdict verdict, std::string_view what,
                  const RoundSender& sender);

// For somebody who waits: for whom.
struct AddressedNotice {
  transport::PeerId peer;
  v1::RoundNotice notice;
};
AddressedNotice NoticeFor(const RoundSender& sender, const std::vector<uint32_t>& awaited);

template <typename Payload>
class RoundGate {
 public:
  // what: is kept here, for messages; a literal.
  explicit RoundGate(std::string_view what) : what_(what) {}

  struct Kept {
    RoundSender sender;
    Payload payload;
  };
  Status Keep(RoundSender sender, Payload payload) {
    const auto verdict = book_.Take(sender.trainer, sender.round, sender.members);
    if (verdict != cluster::RoundBook::Verdict::kKept) return WhyNotKept(verdict, what_, sender);
    const uint32_t trainer = sender.trainer;
    kept_.insert_or_assign(trainer, Kept{std::move(sender), std::move(payload)});
    return OkStatus();
  }
  // What the trainer has sent is on its way again.
  void Drop(uint32_t trainer) {
    book_.Drop(trainer);
    kept_.erase(trainer);
  }
  void Leave(const v1::Departure& departure) {
    book_.Leave(departure.trainer(), departure.last_round());
  }
  bool IsKept(uint32_t trainer) const { return kept_.contains(trainer); }
  void GoOnAfter(uint64_t round) { book_.GoOnAfter(round); }

  // The next round that is whole: what was kept for it, by trainers' numbers.
  std::vector<Kept> Close() {
    std::vector<Kept> round;
    const auto closed = book_.Close();
    if (!closed) return round;
    for (const uint32_t trainer : closed->trainers) {
      round.push_back(std::move(kept_.extract(trainer).mapped()));
    }
    return round;
  }

  std::vector<AddressedNotice> Notices() const {
    const std::vector<uint32_t> awaited = book_.Awaited();
    std::vector<AddressedNotice> notices;
    for (const auto& [trainer, kept] : kept_) notices.push_back(NoticeFor(kept.sender, awaited));
    return notices;
  }

 private:
  const std::string_view what_;
  cluster::RoundBook book_;
  std::map<uint32_t, Kept> kept_;  // by trainer
};

}  // namespace weir::server
