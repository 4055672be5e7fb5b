#include "common/compress/largest_proposer.h"

#include "common/compress/kept_count.h"

namespace weir::compress {

LargestProposer::LargestProposer(std::span<const int64_t> element_counts, double sparsity, Who who)
    : ranges_(WholeLayers(element_counts)),
      kept_(static_cast<size_t>(KeptCount(ElementsOfAll(element_counts), sparsity))),
      who_(who) {}

void LargestProposer::Propose(const Turn& turn, RangeSelect& residuals, Proposal* proposal) {
  *proposal = {.indexes = LayerIndexes(residuals.layer_count())};
  if (who_ == Who::kLeader && turn.agrees && turn.rank != turn.leader()) return;
  LargestAsk ask = {.ranges = ranges_, .k = kept_, .threshold = threshold_};
  residuals.Largest({&ask, 1}, &proposal->indexes);
  threshold_ = ask.threshold;
}

}  // namespace weir::compress
