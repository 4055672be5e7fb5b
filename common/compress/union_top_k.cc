// Union top-k with error feedback: the "Top-k" that DEFT and ExDyna are compared with (Yoon and
// Oh, ICPP 2023 and CCGrid 2024; their code: kljp/deft). Each trainer proposes the exact k largest
// of |gradient + residual| over all layers of the rule together, and every trainer sends the union.
// Trainers whose gradients differ propose different elements, so what is sent grows with their
// number, up to n times k: gradient build-up.
//
// k is what a share `sparsity` of all elements, rounded down, leaves: at least one (the code
// rounds k itself down, and may send nothing). A trainer that agrees with nobody sends its own k.
#include <cstdint>
#include <memory>
#include <span>

#include "common/compress/agreed_policy.h"
#include "common/compress/largest_proposer.h"
#include "common/compress/policies.h"

namespace weir::compress {
namespace {

class UnionTopK : public AgreedPolicy {
 public:
  explicit UnionTopK(const v1::UnionTopKPolicy& config) : sparsity_(config.sparsity()) {}

  std::string_view name() const override { return "union_top_k"; }
  std::unique_ptr<Proposer> MakeProposer(std::span<const int64_t> element_counts) const override {
    return std::make_unique<LargestProposer>(element_counts, sparsity_,
                                             LargestProposer::Who::kEverybody);
  }

 private:
  const double sparsity_;
};

}  // namespace

std::unique_ptr<const Policy> MakeUnionTopK(const v1::PolicyRule& rule) {
  return std::make_unique<UnionTopK>(rule.union_top_k());
}

}  // namespace weir::compress
