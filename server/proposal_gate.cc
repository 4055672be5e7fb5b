#include "server/proposal_gate.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "common/base/strings.h"
#include "common/session/header_message.h"
#include "common/wire/element_ids.h"

namespace weir::server {
namespace {

constexpr uint32_t kWordBits = 64;

// Unions whose pushes have not come. Who pushes before it proposes again leaves one.
constexpr size_t kMostClosed = 16;

// In place of sorting: what many propose is dense.
void Mark(const std::vector<uint32_t>& offsets, std::vector<uint64_t>* bits) {
  for (const uint32_t offset : offsets) {
    (*bits)[offset / kWordBits] |= uint64_t{1} << offset % kWordBits;
  }
}

std::vector<uint32_t> Marked(const std::vector<uint64_t>& bits) {
  std::vector<uint32_t> offsets;
  for (uint32_t word = 0; word < bits.size(); ++word) {
    for (uint64_t left = bits[word]; left != 0; left &= left - 1) {
      offsets.push_back(word * kWordBits + static_cast<uint32_t>(std::countr_zero(left)));
    }
  }
  return offsets;
}

// What policies of one rule say: the leader's word, or that of the first behind it, in turn, who
// has one; and everybody's note. by_rank: null of who said nothing.
v1::AgreedWord WordOf(int rule, const std::vector<const v1::Proposal*>& by_rank, uint64_t round) {
  const v1::PolicyWord none;
  const auto said_by = [&](size_t rank) -> const v1::PolicyWord& {
    const v1::Proposal* const said = by_rank[rank];
    return said != nullptr && rule < said->words_size() ? said->words(rule) : none;
  };
  v1::AgreedWord agreed;
  for (size_t i = 0; i < by_rank.size(); ++i) {
    agreed.add_notes(said_by(i).note());
    if (agreed.word().empty()) agreed.set_word(said_by((round + i) % by_rank.size()).word());
  }
  return agreed;
}

template <typename Proposals>
v1::Agreement WordsOf(const Proposals& proposals) {
  const RoundSender& any = proposals[0].sender;
  std::vector<const v1::Proposal*> by_rank(any.members.size());
  int rules = 0;
  for (const auto& [sender, proposed] : proposals) {
    const auto place = std::ranges::lower_bound(any.members, sender.trainer);
    by_rank[static_cast<size_t>(place - any.members.begin())] = &proposed.header;
    rules = std::max(rules, proposed.header.words_size());
  }
  v1::Agreement agreement;
  for (int rule = 0; rule < rules; ++rule) {
    *agreement.add_words() = WordOf(rule, by_rank, any.round);
  }
  return agreement;
}

}  // namespace

Result<std::optional<ProposalGate::Reply>> ProposalGate::Keep(RoundSender sender,
                                                              const v1::Proposal& proposal,
                                                              AgreedElements elements) {
  if (const auto closed = closed_.find(sender.round);
      closed != closed_.end() &&
      std::ranges::binary_search(closed->second.members, sender.trainer)) {
    return std::optional(
        Reply{sender.peer, MessageOf(closed->second, proposal.request_id()), sender.round});
  }
  if (closed_.size() >= kMostClosed) {
    return InvalidData(StrCat("proposals for more than ", kMostClosed, " rounds without a push"));
  }
  WEIR_RETURN_IF_ERROR(gate_.Keep(std::move(sender), {proposal, std::move(elements)}));
  return std::optional<Reply>();
}

std::vector<ProposalGate::Reply> ProposalGate::Close() {
  std::vector<Reply> replies;
  const std::vector<Gate::Kept> proposals = gate_.Close();
  if (proposals.empty()) return replies;
  const Closed& closed =
      closed_.insert_or_assign(proposals[0].sender.round, Unite(proposals)).first->second;
  for (const Gate::Kept& proposal : proposals) {
    replies.push_back({proposal.sender.peer,
                       MessageOf(closed, proposal.payload.header.request_id()),
                       proposal.sender.round});
  }
  return replies;
}

ProposalGate::Closed ProposalGate::Unite(const std::vector<Gate::Kept>& proposals) const {
  auto elements = std::make_shared<AgreedElements>();
  for (size_t strand = 0; strand < pieces_.size(); ++strand) {
    std::vector<uint64_t> bits((pieces_[strand].element_count + kWordBits - 1) / kWordBits);
    for (const Gate::Kept& proposal : proposals) {
      Mark(proposal.payload.elements.of_strand[strand], &bits);
    }
    elements->of_strand.push_back(Marked(bits));
  }
  std::vector<transport::Part> frames = FramesOf(*elements);
  return {.members = proposals[0].sender.members,
          .agreement = WordsOf(proposals),
          .elements = std::move(elements),
          .frames = std::move(frames)};
}

std::vector<transport::Part> ProposalGate::FramesOf(const AgreedElements& elements) const {
  session::BodyWriter writer;
  for (size_t strand = 0; strand < pieces_.size(); ++strand) {
    const std::vector<uint32_t>& offsets = elements.of_strand[strand];
    if (offsets.empty()) continue;
    wire::AppendElementIds(writer.Next(), pieces_[strand].tensor, pieces_[strand].begin, offsets);
  }
  session::Body body;
  writer.MoveTo(&body);
  return body;
}

transport::Message ProposalGate::MessageOf(const Closed& closed, uint64_t request_id) {
  v1::Header header;
  *header.mutable_agreement() = closed.agreement;
  header.mutable_agreement()->set_request_id(request_id);
  return session::MakeMessage(header, closed.frames);
}

const ProposalGate::Closed* ProposalGate::Find(uint64_t round) const {
  const auto found = closed_.find(round);
  return found == closed_.end() ? nullptr : &found->second;
}

std::shared_ptr<const AgreedElements> ProposalGate::UnionOf(uint64_t round) const {
  const Closed* const closed = Find(round);
  return closed == nullptr ? nullptr : closed->elements;
}

void ProposalGate::Restore(uint64_t round, Closed closed) {
  gate_.GoOnAfter(round);
  closed_.insert_or_assign(round, std::move(closed));
}

}  // namespace weir::server
