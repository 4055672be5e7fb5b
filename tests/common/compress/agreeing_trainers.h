// Trainers of a policy whose trainers agree, without processes or wires: each has its own residuals
// of some layers and its own proposer; a step takes each one's gradients in, makes the union and
// has all take it, as the worker and the servers do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tests/common/compress/policy_support.h"

namespace weir::compress {

// One number an element, by layer.
using Layers = std::vector<std::vector<float>>;

struct Trainer {
  Trainer(const Policy& p, std::span<const int64_t> sizes, wire::ValueCoding values)
      : policy(p), proposer(p.MakeProposer(sizes)) {
    std::vector<Residual*> of_layers;
    for (const int64_t size : sizes) {
      scopes.push_back(MakeScope(size, values));
      states.push_back(p.MakeState(scopes.back()));
      of_layers.push_back(p.residual(*states.back()));
    }
    residuals = std::make_unique<HostRangeSelect>(std::move(of_layers));
  }

  void Begin(const Layers& gradients) {
    plans.clear();
    for (size_t i = 0; i < states.size(); ++i) {
      plans.push_back(policy.BeginStep(*states[i], gradients[i]));
    }
  }

  // Everything of the union, by layer; how many of it were 0 goes unseen.
  std::vector<Sent> Take(const std::vector<std::vector<uint32_t>>& agreed) {
    std::vector<Sent> all(states.size());
    const auto selection = std::make_unique<StripeSelection>();
    for (size_t i = 0; i < states.size(); ++i) {
      plans[i].agreed = agreed[i];
      for (uint32_t stripe = 0; stripe < scopes[i].stripe_count(); ++stripe) {
        CHECK(policy.SelectStripe(*states[i], plans[i], stripe, {}, true, selection.get()));
        AppendSelection(stripe, *selection, scopes[i].values, &all[i]);
      }
      policy.EndStep(*states[i], plans[i], std::ssize(all[i].values));
    }
    return all;
  }

  const Policy& policy;
  std::unique_ptr<Proposer> proposer;
  std::vector<Scope> scopes;
  std::vector<std::unique_ptr<PolicyState>> states;
  std::unique_ptr<HostRangeSelect> residuals;
  std::vector<StepPlan> plans;
};

struct AgreedStep {
  std::vector<Proposal> proposals;            // by rank
  std::vector<std::vector<uint32_t>> agreed;  // by layer
  uint64_t union_count = 0;
  std::vector<std::vector<Sent>> sent;  // by rank and layer
};

inline std::vector<uint32_t> UnionOf(const std::vector<Proposal>& proposals, size_t layer) {
  std::vector<uint32_t> all;
  for (const Proposal& proposal : proposals) {
    CHECK(std::ranges::is_sorted(proposal.indexes[layer]));
    all.insert(all.end(), proposal.indexes[layer].begin(), proposal.indexes[layer].end());
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// The leader's, or of the first behind it that had one.
inline ByteSpan WordOf(const Turn& turn, const std::vector<Proposal>& proposals) {
  for (uint32_t i = 0; i < turn.world; ++i) {
    const Proposal& proposal = proposals[(turn.leader() + i) % turn.world];
    if (!proposal.word.empty()) return proposal.word;
  }
  return {};
}

// trainers: in the order of their ranks. gradients: of each.
inline AgreedStep StepTogether(std::span<Trainer* const> trainers, uint64_t step,
                               const std::vector<Layers>& gradients) {
  const auto world = static_cast<uint32_t>(trainers.size());
  AgreedStep all;
  all.proposals.resize(trainers.size());
  std::vector<ByteSpan> notes;
  for (uint32_t rank = 0; rank < world; ++rank) {
    trainers[rank]->Begin(gradients[rank]);
    trainers[rank]->proposer->Propose({.step = step, .rank = rank, .world = world},
                                      *trainers[rank]->residuals, &all.proposals[rank]);
    notes.emplace_back(all.proposals[rank].note);
  }
  for (size_t layer = 0; layer < trainers[0]->states.size(); ++layer) {
    all.agreed.push_back(UnionOf(all.proposals, layer));
    all.union_count += all.agreed.back().size();
  }
  for (uint32_t rank = 0; rank < world; ++rank) {
    all.sent.push_back(trainers[rank]->Take(all.agreed));
    const Turn turn = {.step = step, .rank = rank, .world = world};
    trainers[rank]->proposer->Learn(
        turn,
        {.union_count = all.union_count, .word = WordOf(turn, all.proposals), .notes = notes});
  }
  return all;
}

}  // namespace weir::compress
