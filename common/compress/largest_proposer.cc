#include "common/compress/largest_proposer.h"

#include "common/compress/kept_count.h"

namespace weir::compress {

LargestProposer::LargestProposer(std::span<const int64_t> element_counts, double sparsity, Who who)
    : ranges_(WholeLayers(element_counts)),
      kept_(static_cast<size_t>(KeptCount(ElementsOfAll(element_counts), sparsity))),
      who_(who) {}

void LargestProposer::Propose(const Turn& turn, std::span<Residual* const> residuals,
                              Proposal* proposal) {
  *proposal = {.indexes = LayerIndexes(residuals.size())};
  if (who_ == Who::kLeader && turn.agrees && turn.rank != turn.leader()) return;
  threshold_ = select_.Largest(residuals, ranges_, kept_, threshold_, &proposal->indexes);
}

}  // namespace weir::compress
