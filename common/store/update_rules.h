// What the files of the update rules share: a factory each, for the table in update_rule.cc, the
// rate of a step with its weight decay, and the loop over a batch of rows. Everybody else calls
// MakeUpdateRule (update_rule.h).
//
// Coupled weight decay, l2_penalty, adds a share of the value to its gradient before the rule sees
// it, and after workers clipped it: of dense elements that have a gradient, or with dense_semantics
// of all; of all elements of a row that has one.
//
// Thread rule: pure functions, any thread.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>

#include "common/store/learning_rate.h"
#include "common/store/rest.h"
#include "common/store/update_rule.h"

namespace weir::store {

std::unique_ptr<UpdateRule> MakeSgd(const v1::UpdateRule& config);
std::unique_ptr<UpdateRule> MakeAdagrad(const v1::UpdateRule& config);
std::unique_ptr<UpdateRule> MakeRowwiseAdagrad(const v1::UpdateRule& config);
std::unique_ptr<UpdateRule> MakeMomentum(const v1::UpdateRule& config);
std::unique_ptr<UpdateRule> MakeAdam(const v1::UpdateRule& config);

// The learning rate of each step, and the share of a value that weight decay takes off it.
class StepRate {
 public:
  StepRate(double learning_rate, const v1::UpdateRule& config)
      : rate_(learning_rate, config.schedule()), weight_decay_(config.weight_decay()) {}

  double At(uint64_t step) const { return rate_.At(step); }
  double DecayAt(uint64_t step) const { return weight_decay_ * rate_.At(step); }
  bool decays() const { return weight_decay_ != 0; }
  uint64_t settled_step() const { return rate_.settled_step(); }

  // Of rules that only decay at rest; null when they do not.
  std::unique_ptr<RestSums> DecayAlone() const {
    if (!decays()) return nullptr;
    return std::make_unique<RestSums>(
        0, 1,
        [rate = *this](uint64_t step) {
          return StepFactors{.log_keep = std::log1p(-rate.DecayAt(step))};
        },
        settled_step());
  }

 private:
  LearningRate rate_;
  double weight_decay_;
};

// The dimension of a row that has code of its own: loops of whole vectors, without a remainder.
inline constexpr std::integral_constant<size_t, 16> kUsualDimension;

// Calls update(row, dimension) for each row, with the usual dimension as a constant.
template <typename Update>
inline void ForEachUpdate(std::span<const RowUpdate> updates, size_t dimension,
                          const Update& update) {
  if (dimension == kUsualDimension) {
    for (const RowUpdate& row : updates) update(row, kUsualDimension);
  } else {
    for (const RowUpdate& row : updates) update(row, dimension);
  }
}

}  // namespace weir::store
