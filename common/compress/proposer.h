// What a policy proposes whose trainers agree on the elements that leave (algorithm by algorithm:
// deft.cc, exdyna.cc, clt_k.cc, union_top_k.cc, union_hard_threshold.cc). It looks at all layers of
// its rule at once, once their gradients are in the residuals:
//
//   residual += gradient -> **propose** -> union of all trainers' proposals -> take, encode -> push
//
// Everybody takes the whole union, whoever proposed what of it. A trainer that agrees with nobody
// takes what it proposed itself. Servers make the union and pass on words and notes; they know no
// policy.
//
// Place in the life of a batch: residual += gradient -> **propose** -> select -> encode -> push.
// Thread rule: one step at a time. Borrows nothing between calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/bytes.h"

namespace weir::compress {

class RangeSelect;

// Who proposes. Trainers of a step have ranks of their own, below world, which is how many they
// are; both may change from step to step.
struct Turn {
  uint64_t step = 0;  // of all trainers together, where they agree; else of this one; from 0
  uint32_t rank = 0;
  uint32_t world = 1;
  // False: nobody else takes what this one proposes, and its step, rank and world only tell it
  // apart from the others. Agreements are then its own proposals.
  bool agrees = true;

  // Each trainer in turn.
  uint32_t leader() const { return static_cast<uint32_t>(step % world); }
};

struct Proposal {
  std::vector<std::vector<uint32_t>> indexes;  // of each layer, ascending
  // What all hear of whoever leads the step; empty: nothing, and the next one's word counts.
  Bytes word = {};
  // What all hear of each other; of a few bytes.
  Bytes note = {};
};

// What has become of a step's proposals: the same for all trainers in it. A peer's word and notes
// may be any bytes.
struct Agreement {
  uint64_t union_count = 0;  // elements of all layers in the union
  ByteSpan word = {};        // of the leader; or of the first behind it, in turn, that had one
  // By rank; empty of who had none, or was gone before it could tell.
  std::span<const ByteSpan> notes = {};
};

class Proposer {
 public:
  virtual ~Proposer() = default;

  // residuals: of the layers that the proposer was made for, on the host or on a device
  // (range_select.h).
  virtual void Propose(const Turn& turn, RangeSelect& residuals, Proposal* proposal) = 0;

  // After each step's Propose. What cannot be read of the word or a note counts as not said.
  virtual void Learn(const Turn& turn, const Agreement& agreement) = 0;

  // The last threshold, for reports; 0 if there is none.
  virtual double threshold() const { return 0; }

  // What the last Propose did in place of what the config asks for, which cannot be done for so
  // many layers and trainers: a sentence for the log. Empty: nothing.
  virtual std::string Clamped() const { return {}; }
};

}  // namespace weir::compress
