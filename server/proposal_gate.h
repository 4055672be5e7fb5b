// What trainers of a round propose to send, of layers whose policies agree on it: kept until all
// have proposed, and answered with the union. Policies' words pass through; what they mean only
// trainers know.
//
// Place in the life of a batch: propose -> **union** -> take -> push -> mean.
// Thread rule: I/O thread only. A union is kept until the round's pushes are a step.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "common/proto/protocol.pb.h"
#include "common/transport/transport.h"
#include "server/round_gate.h"
#include "server/shard/agreed_elements.h"

namespace weir::server {

class ProposalGate {
 public:
  // strands: of the server, whose pieces have so many elements and begin there.
  struct Piece {
    uint32_t tensor = 0;
    uint32_t begin = 0;
    uint32_t element_count = 0;
  };
  void Open(std::vector<Piece> pieces) { pieces_ = std::move(pieces); }

  // For whoever has proposed, once all have.
  struct Reply {
    transport::PeerId peer;
    transport::Message message;
    uint64_t round = 0;
  };
  // Keeps the proposal; says why not, to whoever sent it; or, if it has been answered, what the
  // answer was.
  Result<std::optional<Reply>> Keep(RoundSender sender, const v1::Proposal& proposal,
                                    AgreedElements elements);
  // Of the next round that is whole; none: there is none.
  std::vector<Reply> Close();

  void Drop(uint32_t trainer) { gate_.Drop(trainer); }
  void Leave(const v1::Departure& departure) { gate_.Leave(departure); }
  std::vector<AddressedNotice> Notices() const { return gate_.Notices(); }

  // What a round has agreed on.
  struct Closed {
    std::vector<uint32_t> members;
    v1::Agreement agreement;
    std::shared_ptr<const AgreedElements> elements;
    std::vector<transport::Part> frames;
  };
  // Null where nothing was proposed for the round.
  const Closed* Find(uint64_t round) const;
  std::shared_ptr<const AgreedElements> UnionOf(uint64_t round) const;
  template <typename Visit>
  void ForEachClosed(const Visit& visit) const {
    for (const auto& [round, closed] : closed_) visit(round, closed);
  }
  // In another life of the server.
  void Restore(uint64_t round, Closed closed);
  void GoOnAfter(uint64_t round) { gate_.GoOnAfter(round); }
  // The round's pushes are a step: nobody asks again for this union, or an earlier one.
  void Forget(uint64_t round) { closed_.erase(closed_.begin(), closed_.upper_bound(round)); }

 private:
  struct Proposed {
    v1::Proposal header;
    AgreedElements elements;
  };
  using Gate = RoundGate<Proposed>;

  Closed Unite(const std::vector<Gate::Kept>& proposals) const;
  std::vector<transport::Part> FramesOf(const AgreedElements& elements) const;
  static transport::Message MessageOf(const Closed& closed, uint64_t request_id);

  std::vector<Piece> pieces_;
  Gate gate_{"proposal"};
  std::map<uint64_t, Closed> closed_;  // by round
};

}  // namespace weir::server
