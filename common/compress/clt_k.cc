// CLT-k, cyclic local top-k (ScaleCom, Chen et al., NeurIPS 2020; no public code): in every step
// one trainer, the leader, chooses its k largest of |gradient + residual| over all layers of the
// rule together, and every trainer sends those elements, whatever its own are. Trainers lead in
// turn. So n trainers send as many elements as one, and only the leader selects.
//
// k is what a share `sparsity` of all elements, rounded down, leaves: at least one.
//
// Deviations: no low-pass filter of the residual (ScaleCom's beta is 1). A trainer that agrees with
// nobody leads every step of its own: it sends its k largest of all layers.
#include <memory>
#include <span>

#include "common/compress/agreed_policy.h"
#include "common/compress/largest_proposer.h"
#include "common/compress/policies.h"

namespace weir::compress {
namespace {

class CltK : public AgreedPolicy {
 public:
  explicit CltK(const v1::CltKPolicy& config) : sparsity_(config.sparsity()) {}

  std::string_view name() const override { return "clt_k"; }
  std::unique_ptr<Proposer> MakeProposer(std::span<const int64_t> element_counts) const override {
    return std::make_unique<LargestProposer>(element_counts, sparsity_,
                                             LargestProposer::Who::kLeader);
  }

 private:
  const double sparsity_;
};

}  // namespace

std::unique_ptr<const Policy> MakeCltK(const v1::PolicyRule& rule) {
  return std::make_unique<CltK>(rule.clt_k());
}

}  // namespace weir::compress
