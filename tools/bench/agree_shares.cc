#include "tools/bench/agree_shares.h"

#include <algorithm>
#include <cmath>

#include "common/base/random.h"
#include "common/compress/kept_count.h"
#include "tools/bench/dlrm_shape.h"
#include "tools/bench/measure.h"

namespace weir::bench {

AgreeTensors::AgreeTensors(double sparsity) : sparsity_(sparsity) {
  RandomStream random(1);
  for (const GemmShape& layer : kDlrmLayers) {
    sizes_.push_back(layer.inputs * layer.outputs);
    sizes_.push_back(layer.outputs);
  }
  for (const int64_t size : sizes_) {
    owned_.push_back(std::make_unique<compress::Residual>(size));
    pointers_.push_back(owned_.back().get());
    owned_.back()->ForEachStripe([&](int64_t, std::span<float> values) {
      for (float& value : values) value = static_cast<float>(random.NextNormal());
    });
  }
}

int64_t AgreeTensors::kept() const { return compress::KeptCount(element_count(), sparsity_); }

AgreeShare WholeShare(const AgreeTensors& tensors) {
  return {{.ranges = compress::WholeLayers(tensors.sizes()),
           .count = static_cast<size_t>(tensors.kept())}};
}

DeftShares PackDeftShares(const AgreeTensors& tensors, int trainers, compress::DeftCost cost) {
  const auto pieces = compress::CutForDeft(tensors.sizes(), trainers);
  std::vector<double> norms;
  norms.reserve(pieces.size());
  for (const auto& piece : pieces) norms.push_back(std::sqrt(static_cast<double>(piece.size)));
  const auto counts = compress::DeftCounts(pieces, norms, tensors.kept());
  std::vector<int64_t> packed_counts;  // no piece is common, as in the policy
  packed_counts.reserve(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    packed_counts.push_back(std::min(counts[i], pieces[i].size - 1));
  }
  DeftShares packed;
  for (const auto& bin : compress::PackForDeft(pieces, packed_counts, trainers, cost).bins) {
    AgreeShare& share = packed.shares.emplace_back();
    double heap_cost = 0;
    for (const size_t i : bin) {
      share.push_back(
          {.ranges = compress::RangesOf(tensors.sizes(), pieces[i].begin, pieces[i].end()),
           .count = static_cast<size_t>(counts[i])});
      heap_cost += CostOf(compress::DeftCost::kHeap, pieces[i].size, counts[i]);
    }
    packed.costliest = std::max(packed.costliest, heap_cost);
  }
  return packed;
}

void LinearSelection::operator()() {
  indexes_.resize(tensors_.sizes().size());
  for (auto& layer : indexes_) layer.clear();
  select_.Largest(asks_, &indexes_);
  KeepAlive(indexes_.data());
}

}  // namespace weir::bench
