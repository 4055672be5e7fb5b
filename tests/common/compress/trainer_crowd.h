// A crowd of trainers (agreeing_trainers.h) with random gradients of heavy tails.
#pragma once

#include <algorithm>
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
    for (uint64_t i = 0; i < 8; ++i) drawn_.push_back(Draw(i));
  }

  // One of a few that were drawn, turned round by so much: elements are independent, and drawing
  // anew takes long.
  Layers Gradient(uint64_t key) const {
    RandomStream random(key);
    Layers layers;
    for (const std::vector<float>& drawn : drawn_[random.NextBelow(drawn_.size())]) {
      std::vector<float>& layer = layers.emplace_back(drawn.size());
      const auto offset =
          static_cast<ptrdiff_t>(drawn.empty() ? 0 : random.NextBelow(drawn.size()));
      std::rotate_copy(drawn.begin(), drawn.begin() + offset, drawn.end(), layer.begin());
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
  Layers Draw(uint64_t key) const {
    Layers layers;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      layers.push_back(NormalGradient(sizes_[i], key * 131 + i));
      const float scale = 0.01f / static_cast<float>(i + 1);
      for (float& value : layers.back()) value = scale * value * value * value;
    }
    return layers;
  }

  const std::unique_ptr<const Policy> policy_;
  const std::vector<int64_t> sizes_;
  std::vector<Layers> drawn_;
  std::vector<std::unique_ptr<Trainer>> owned_;
};

}  // namespace weir::compress
