// What the trainers of ExDyna agree on, and what they tell each other so that they do: the
// threshold and the partitions (exdyna_threshold.h, exdyna_blocks.h).
//
// Who joins takes over what another tells; whoever learns the same has the same, bit for bit. What
// is told may be any bytes, and what cannot be read counts as not said.
//
// Place in the life of a batch: told by all in the step before -> **state** -> select.
// Thread rule: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/base/bytes.h"
#include "common/compress/exdyna_blocks.h"
#include "common/compress/exdyna_threshold.h"
#include "common/compress/proposer.h"

namespace weir::compress {

struct ExDynaOptions {
  int64_t target = 1;  // k, > 0
  ExDynaBand band = ExDynaBand::kSymmetric;
  ExDynaBlockOptions blocks = {};
};

// What one trainer tells of a step: how many elements it proposed, and where the threshold is to be
// renewed the one that it would have.
struct ExDynaNote {
  int64_t count = 0;
  std::optional<double> quantile = std::nullopt;

  Bytes Tell() const;
  // element_count: no more can have been proposed.
  static std::optional<ExDynaNote> Hear(ByteSpan told, int64_t element_count);
};

class ExDynaState {
 public:
  // threshold: nothing where quantiles are to give it, in the first step and in others early on.
  ExDynaState(int64_t element_count, const ExDynaOptions& options, std::optional<double> threshold);

  // Partitions for so many trainers, anew if there were others. Before anything else in a step.
  void Fit(uint32_t world);

  // What all hear of whoever leads the step: all of this; nothing unless it has learned of the
  // step before.
  Bytes Tell(uint64_t step) const;

  // Takes over the word, if it is one, and goes on to the next step.
  void Learn(const Turn& turn, const Agreement& agreement);

  std::optional<double> threshold() const { return threshold_; }
  const ExDynaBlocks& blocks() const { return blocks_; }
  // Whether trainers tell quantiles in this step, because there is no threshold or it may be far
  // off: what is kept grows over the first steps, and the paper's correction is half a percent.
  bool renews(const Turn& turn) const;
  // Of the trainer whose turn it is.
  ExDynaRange RangeOf(const Turn& turn) const;

  bool operator==(const ExDynaState& other) const {
    return threshold_ == other.threshold_ && blocks_ == other.blocks_ && surplus_ == other.surplus_;
  }

 private:
  void TakeOver(uint64_t step, ByteSpan word);
  // By what was sent: after each step, or where nobody agrees once all partitions were visited, for
  // they differ.
  void Correct(const Turn& turn, const Agreement& agreement);
  int64_t UsableCount(const Agreement& agreement) const;
  void CarryOver(int64_t excess);

  int64_t element_count_;
  ExDynaOptions options_;
  bool is_of_quantiles_;
  std::optional<double> threshold_;
  ExDynaBlocks blocks_;
  struct Unjudged {
    int64_t sent = 0;
    uint32_t steps = 0;
  };
  Unjudged unjudged_;
  // Elements sent beyond the target by steps so far; 0 in the paper's band, which sends less.
  int64_t surplus_ = 0;
  uint64_t next_step_ = 0;  // behind the last one of which it has learned; 0: of none
};

}  // namespace weir::compress
