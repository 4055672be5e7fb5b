// A crowd of trainers (agreeing_trainers.h) with random gradients of heavy tails, and what all
// policies of the kind must hold: conservation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tests/common/compress/agreeing_trainers.h"

namespace weir::compress {

// Gradients are normal numbers, cubed. Layers differ in scale.
class Crowd {
 public:
  Crowd(const v1::PolicyRule& rule, uint32_t count, std::vector<int64_t> sizes,
        wire::ValueCoding values = wire::ValueCoding::kF32)
      : policy_(MakePolicy(WithDefaults(rule))), sizes_(std::move(sizes)) {
    for (uint32_t i = 0; i < count; ++i) {
      owned_.push_back(std::make_unique<Trainer>(*policy_, sizes_, values));
      trainers.push_back(owned_.back().get());
    }
  }

  Layers Gradient(uint64_t key) const {
    Layers layers;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      layers.push_back(NormalGradient(sizes_[i], key * 131 + i));
      const float scale = 0.01f / static_cast<float>(i + 1);
      for (float& value : layers.back()) value = scale * value * value * value;
    }
    return layers;
  }

  AgreedStep Step() {
    std::vector<Layers> gradients;
    for (size_t rank = 0; rank < trainers.size(); ++rank) {
      gradients.push_back(Gradient(step * 1000 + rank));
    }
    return StepTogether(trainers, step++, gradients);
  }

  int64_t element_count() const {
    int64_t count = 0;
    for (const int64_t size : sizes_) count += size;
    return count;
  }

  std::vector<Trainer*> trainers;
  uint64_t step = 0;

 private:
  const std::unique_ptr<const Policy> policy_;
  const std::vector<int64_t> sizes_;
  std::vector<std::unique_ptr<Trainer>> owned_;
};

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
