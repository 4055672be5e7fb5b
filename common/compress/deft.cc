// DEFT (Yoon and Oh, ICPP 2023; where the paper is silent, its code: kljp/deft): trainers select
// from different pieces of the model, so that nothing is proposed twice and what all send together
// is the target, however many they are; and each has a part of the work.
//
// A step: the norm of each piece of gradient + residual says how many elements it sends
// (deft_pieces.h); trainers take bins of pieces in turn (deft_packing.h), and each proposes the
// largest of each piece of its bin, as many as its own norms give. Everybody sends the union.
// Elements that are 0 are never proposed.
//
// Deviations:
// - The packing of a step is that which the leader of the step before made and told, so no step
//   waits for it. In a first step, after the number of trainers changed, or where nobody told one
//   that can be read, all make the same from the sizes of pieces.
// - A piece of which all is sent is in a bin like any other (the paper). In the code it is in none:
//   everybody sends it whole, as the leader says. Here the leader's word is of the step before,
//   when what is now sent was not yet; and everybody would have to propose it.
// - What a step sent beyond the target, the next one deals out less, but for `dealing: ONCE`, which
//   is the paper's. Whoever comes to a piece has not selected from it for longest, and has the
//   largest norm there: so up to 3 % more would be sent than is wanted.
// - A trainer that agrees with nobody packs by its own norms in each step, and goes from bin to
//   bin. It deals out the target times the number of trainers, so its bin sends about the target.
//
// Each trainer reads all for the norms, which is one pass of multiplications, and then its bin.
// Counts follow from a trainer's own norms, and the packing from the leader's word alone: so it
// does not matter to others how a trainer adds up. All the same, equal residuals have equal norms,
// on any processor and on a card (range_select.h), and then the same counts and proposals.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "common/compress/agreed_policy.h"
#include "common/compress/deft_packing.h"
#include "common/compress/deft_pieces.h"
#include "common/compress/kept_count.h"
#include "common/compress/layer_ranges.h"
#include "common/compress/policies.h"
#include "common/compress/range_select.h"

namespace weir::compress {
namespace {

struct DeftChoices {
  double sparsity;
  DeftDealing dealing;
  DeftCost cost;
};

class DeftProposer : public Proposer {
 public:
  DeftProposer(std::span<const int64_t> element_counts, const DeftChoices& choices)
      : sizes_(element_counts.begin(), element_counts.end()),
        all_(ElementsOfAll(element_counts)),
        target_(std::min(all_, KeptCount(all_, choices.sparsity))),
        choices_(choices) {}

  void Propose(const Turn& turn, RangeSelect& residuals, Proposal* proposal) override {
    *proposal = {.indexes = LayerIndexes(residuals.layer_count())};
    if (turn.world != world_) CutFor(turn.world);
    if (turn.step != next_step_) packing_ = std::nullopt;  // others may have another one by now
    wanted_ = turn.agrees ? target_ : std::min(all_, target_ * int64_t{turn.world});
    const std::vector<int64_t> counts = Deal(residuals.Norms(ranges_), wanted_ - surplus_);
    DeftPacking own = Pack(counts);
    proposal->word = TellDeftPacking(own);
    if (!turn.agrees) packing_ = std::move(own);
    if (!packing_) PackAnew();
    SelectFrom(BinOf(turn), counts, &residuals, &proposal->indexes);
  }

  void Learn(const Turn& turn, const Agreement& agreement) override {
    packing_ = HearDeftPacking(agreement.word, pieces_.size(), static_cast<int>(world_));
    if (turn.agrees) CarryOver(agreement.union_count);
    leader_ = turn.leader();
    next_step_ = turn.step + 1;
  }

  double threshold() const override { return threshold_; }

  std::string Clamped() const override {
    const int64_t pieces = std::ssize(pieces_);
    if (wanted_ >= pieces) return {};
    return StrCat("deft.sparsity: ", choices_.sparsity, " would send ", wanted_, " of ", all_,
                  " elements, but each of the ", pieces, " pieces for ", world_,
                  " trainers sends one at least, so ", pieces,
                  " are sent; for less, leave small layers to another rule");
  }

 private:
  // Without a packing: the next one is made of sizes.
  void CutFor(uint32_t world) {
    world_ = world;
    pieces_ = CutForDeft(sizes_, static_cast<int>(world));
    ranges_.clear();
    for (const DeftPiece& piece : pieces_) {
      ranges_.push_back(RangesOf(sizes_, piece.begin, piece.end()).front());
    }
    thresholds_.assign(pieces_.size(), 0);
    packing_ = by_elements_ = std::nullopt;
  }

  // Within bounds: no later step makes good what lacked gradients, or room for so few.
  void CarryOver(uint64_t sent) {
    if (choices_.dealing == DeftDealing::kOnce) return;
    const auto usable = static_cast<int64_t>(std::min(sent, static_cast<uint64_t>(all_)));
    const int64_t most = target_ / 4;
    surplus_ = std::clamp(surplus_ + usable - target_, -most, most);
  }

  std::vector<int64_t> Deal(const std::vector<double>& norms, int64_t target) const {
    return DeftCounts(pieces_, norms, target, choices_.dealing);
  }
  // No piece is common.
  DeftPacking Pack(std::vector<int64_t> counts) {
    if (by_elements_) return *by_elements_;
    for (size_t i = 0; i < counts.size(); ++i) counts[i] = std::min(counts[i], pieces_[i].size - 1);
    DeftPacking packing = PackForDeft(pieces_, counts, static_cast<int>(world_), choices_.cost);
    if (choices_.cost == DeftCost::kElements) by_elements_ = packing;  // whatever the counts are
    return packing;
  }
  // By the sizes of pieces, which all know.
  void PackAnew() {
    std::vector<double> sizes;
    for (const DeftPiece& piece : pieces_) sizes.push_back(static_cast<double>(piece.size));
    packing_ = Pack(Deal(sizes, target_));
    leader_ = std::nullopt;
  }

  // Goes on from the leader who made the packing.
  const std::vector<size_t>& BinOf(const Turn& turn) const {
    const bool is_told = turn.agrees && leader_;
    const auto leader = static_cast<int>(is_told ? *leader_ : turn.leader());
    const int bin = DeftBin(leader, static_cast<int>(turn.rank), static_cast<int>(turn.world));
    return packing_->bins[static_cast<size_t>(bin)];
  }

  void SelectFrom(std::vector<size_t> bin, const std::vector<int64_t>& counts,
                  RangeSelect* residuals, LayerIndexes* indexes) {
    std::ranges::sort(bin);
    std::vector<LargestAsk> asks(bin.size());
    for (size_t i = 0; i < bin.size(); ++i) {
      asks[i] = {.ranges = {&ranges_[bin[i]], 1},
                 .k = static_cast<size_t>(counts[bin[i]]),
                 .threshold = thresholds_[bin[i]]};
    }
    residuals->Largest(asks, indexes);
    threshold_ = 0;
    for (size_t i = 0; i < bin.size(); ++i) {
      thresholds_[bin[i]] = asks[i].threshold;
      threshold_ = std::max(threshold_, asks[i].threshold);
    }
  }

  const std::vector<int64_t> sizes_;
  const int64_t all_;
  const int64_t target_;
  const DeftChoices choices_;
  int64_t wanted_ = 0;  // elements of all bins together, in the last step
  // For so many trainers.
  uint32_t world_ = 0;
  std::vector<DeftPiece> pieces_;
  std::vector<LayerRange> ranges_;  // the pieces, within their layers
  std::vector<float> thresholds_;   // of each piece, when it was last selected from
  uint64_t next_step_ = 0;          // behind the last one of which it has learned
  std::optional<DeftPacking> packing_, by_elements_;
  std::optional<uint32_t> leader_;  // of the step before
  int64_t surplus_ = 0;             // elements that steps so far sent beyond the target
  float threshold_ = 0;             // the largest of the last step
};

class Deft : public AgreedPolicy {
 public:
  explicit Deft(const v1::DeftPolicy& config)
      : choices_{.sparsity = config.sparsity(),
                 .dealing = config.dealing() == v1::DeftPolicy::ONCE
                                ? DeftDealing::kOnce
                                : DeftDealing::kUntilAllIsDealt,
                 .cost = config.cost() == v1::DeftPolicy::HEAP ? DeftCost::kHeap
                                                               : DeftCost::kElements} {}

  std::string_view name() const override { return "deft"; }
  std::unique_ptr<Proposer> MakeProposer(std::span<const int64_t> element_counts) const override {
    return std::make_unique<DeftProposer>(element_counts, choices_);
  }

 private:
  const DeftChoices choices_;
};

}  // namespace

std::unique_ptr<const Policy> MakeDeft(const v1::PolicyRule& rule) {
  return std::make_unique<Deft>(rule.deft());
}

}  // namespace weir::compress
