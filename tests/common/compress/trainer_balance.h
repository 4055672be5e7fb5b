// What all policies must hold whose trainers agree: conservation, over all trainers together.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/common/compress/trainer_crowd.h"

namespace weir::compress {

// What all trainers were given, less what they sent and what they still have, by layer.
class Balance {
 public:
  explicit Balance(const Crowd& crowd) {
    for (const Scope& scope : crowd.trainers[0]->scopes) {
      layers_.emplace_back(static_cast<size_t>(scope.element_count));
    }
  }

  void Give(const Layers& gradients) {
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      for (size_t i = 0; i < layers_[layer].size(); ++i) {
        layers_[layer][i] += static_cast<double>(gradients[layer][i]);
      }
    }
  }
  void Take(const std::vector<Sent>& sent) {
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      for (size_t i = 0; i < sent[layer].values.size(); ++i) {
        layers_[layer][static_cast<size_t>(sent[layer].indexes[i])] -=
            static_cast<double>(sent[layer].values[i]);
      }
    }
  }
  void TakeResidual(const Trainer& trainer) {
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      const auto left = ResidualOf(trainer.policy, *trainer.states[layer]);
      for (size_t i = 0; i < left.size(); ++i) layers_[layer][i] -= left[i];
    }
  }
  double Largest() const {
    double largest = 0;
    for (const auto& layer : layers_) {
      for (const double balance : layer) largest = std::max(largest, std::fabs(balance));
    }
    return largest;
  }

 private:
  std::vector<std::vector<double>> layers_;
};

// 0 but for rounding.
inline double LargestImbalance(const v1::PolicyRule& rule, uint32_t count, uint64_t steps,
                               wire::ValueCoding values) {
  Crowd crowd(rule, count, {kStripeElements + 77, 0, 5, 3000}, values);
  Balance balance(crowd);
  while (crowd.step < steps) {
    for (uint32_t rank = 0; rank < count; ++rank) {
      balance.Give(crowd.Gradient(crowd.step * 1000 + rank));
    }
    for (const std::vector<Sent>& sent : crowd.Step().sent) balance.Take(sent);
  }
  for (const Trainer* trainer : crowd.trainers) balance.TakeResidual(*trainer);
  return balance.Largest();
}

}  // namespace weir::compress
