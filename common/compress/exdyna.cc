// ExDyna (Yoon and Oh, CCGrid 2024; where the paper is silent, its code: kljp/exdyna): each trainer
// proposes what of its own partition of the elements reaches a threshold that is one for all, so
// nothing is proposed twice. The threshold follows what all sent of the target, and partitions
// what was selected in each (exdyna_state.h). Everybody sends the union. A trainer reads only its
// partition: with n trainers, one element in n.
//
// Where nothing of the partition reaches the threshold, one element of it is proposed all the same,
// whatever it holds.
//
// Deviations:
// - With `start: QUANTILE`: in a first step each trainer selects by the target's quantile of its
//   own elements, and the threshold of the next step is the mean of those. The same again in steps
//   1, 2, 4, ... 1024: what is kept grows meanwhile, and half a percent a step would take hundreds
//   of steps to follow, in which twice the target is sent. So long corrections are larger, too.
// - With `band: SYMMETRIC` what steps so far sent beyond the target counts in. Counts of a step
//   have a long tail, and a threshold that is as often too low as too high sends too much.
// - Boundaries of partitions go where what all partitions before them have is even, and a partition
//   keeps one block (exdyna_blocks.h), unless `literal_partitions` is set.
// - Who joins has the threshold and the partitions of the others after one step; when the number of
//   trainers changes partitions begin anew. Of a trainer that is gone before it told its count the
//   mean of the others is taken.
// - A trainer that agrees with nobody goes from partition to partition. Its threshold follows what
//   it sent itself since it was last at the same one, so that its steps send about the target.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/strings.h"
#include "common/compress/agreed_policy.h"
#include "common/compress/exdyna_state.h"
#include "common/compress/kept_count.h"
#include "common/compress/layer_ranges.h"
#include "common/compress/policies.h"
#include "common/compress/range_select.h"

namespace weir::compress {
namespace {

class ExDynaProposer : public Proposer {
 public:
  ExDynaProposer(std::span<const int64_t> element_counts, const ExDynaOptions& options,
                 std::optional<double> threshold)
      : sizes_(element_counts.begin(), element_counts.end()),
        whole_(WholeLayers(element_counts)),
        all_(ElementsOfAll(element_counts)),
        target_(options.target),
        blocks_wanted_(options.blocks.block_count),
        state_(all_, options, threshold) {}

  void Propose(const Turn& turn, RangeSelect& residuals, Proposal* proposal) override {
    *proposal = {.indexes = LayerIndexes(residuals.layer_count())};
    state_.Fit(turn.world);
    proposal->word = state_.Tell(turn.step);
    ExDynaNote note;
    if (state_.renews(turn)) note.quantile = Quantile(turn, &residuals);
    const std::optional<double> threshold = note.quantile ? note.quantile : state_.threshold();
    const ExDynaRange range = state_.RangeOf(turn);
    const std::vector<LayerRange> ranges = RangesOf(sizes_, range.begin, range.end);
    if (threshold) {
      note.count = static_cast<int64_t>(
          residuals.Reaching(ranges, static_cast<float>(*threshold), &proposal->indexes));
    }
    if (note.count == 0) note.count = FallBack(turn, range, &proposal->indexes);
    proposal->note = note.Tell();
  }

  void Learn(const Turn& turn, const Agreement& agreement) override {
    state_.Learn(turn, agreement);
  }

  double threshold() const override { return state_.threshold().value_or(0); }

  std::string Clamped() const override {
    const int64_t trainers = state_.blocks().partition_count();
    const int64_t made = state_.blocks().block_count();
    const bool are_wanted = blocks_wanted_ >= trainers;
    if (are_wanted && made >= trainers) return {};
    const std::string what = are_wanted ? StrCat(all_, " elements make ", made, " blocks for ")
                                        : StrCat(blocks_wanted_, " are fewer than ");
    const std::string then =
        made < trainers ? StrCat("in each step ", trainers - made, " of them select nothing")
                        : std::string("there is one for each, and none moves");
    return StrCat("exdyna.blocks: ", what, trainers, " trainers, so ", then, "; ",
                  are_wanted ? "leave such small layers to another rule" : "set it to 1024");
  }

 private:
  // Nothing where all is 0.
  std::optional<double> Quantile(const Turn& turn, RangeSelect* residuals) const {
    const int64_t kept = turn.agrees ? target_ : std::min(all_, target_ * int64_t{turn.world});
    LargestAsk ask = {.ranges = whole_, .k = static_cast<size_t>(kept)};
    residuals->Largest({&ask, 1}, nullptr);
    const float quantile = ask.threshold;
    if (!(quantile > 0 && quantile <= std::numeric_limits<float>::max())) return std::nullopt;
    return static_cast<double>(quantile);
  }

  // How many it proposes.
  int64_t FallBack(const Turn& turn, const ExDynaRange& range, LayerIndexes* indexes) const {
    const auto element = ExDynaFallback(static_cast<int64_t>(turn.step), range);
    if (!element) return 0;
    const LayerRange one = RangesOf(sizes_, *element, *element + 1).front();
    (*indexes)[one.layer] = {static_cast<uint32_t>(one.begin)};
    return 1;
  }

  const std::vector<int64_t> sizes_;
  const std::vector<LayerRange> whole_;
  const int64_t all_;
  const int64_t target_;
  const int64_t blocks_wanted_;
  ExDynaState state_;
};

class ExDyna : public AgreedPolicy {
 public:
  explicit ExDyna(const v1::ExdynaPolicy& config) : config_(config) {}

  std::string_view name() const override { return "exdyna"; }
  std::unique_ptr<Proposer> MakeProposer(std::span<const int64_t> element_counts) const override {
    const bool repairs = !config_.literal_partitions();
    const ExDynaOptions options = {
        .target = KeptCount(ElementsOfAll(element_counts), config_.sparsity()),
        .band = config_.band() == v1::ExdynaPolicy::UPWARD ? ExDynaBand::kUpward
                                                           : ExDynaBand::kSymmetric,
        .blocks = {.block_count = config_.blocks(),
                   .deal_remainder = repairs,
                   .fit_blocks = repairs,
                   .exact_shares = repairs,
                   .even_sums = repairs}};
    std::optional<double> threshold;
    if (config_.start() == v1::ExdynaPolicy::PAPER) {
      threshold = FirstExDynaThreshold(options.target);
    }
    return std::make_unique<ExDynaProposer>(element_counts, options, threshold);
  }

 private:
  const v1::ExdynaPolicy config_;
};

}  // namespace

std::unique_ptr<const Policy> MakeExDyna(const v1::PolicyRule& rule) {
  return std::make_unique<ExDyna>(rule.exdyna());
}

}  // namespace weir::compress
