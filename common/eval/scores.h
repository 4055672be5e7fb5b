// What a model says of the rows of a test chunk, and what is true.
//
// Place in the life of a batch: forward -> **scores** -> the coordinator -> metrics.
// Thread rule: a value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weir::eval {

struct Scores {
  std::vector<float> probabilities;
  // The same with everything sent at the splits of the model; empty where that makes no difference.
  std::vector<float> unmasked;
  std::vector<uint8_t> labels;  // 0 or 1

  static void Fields(auto& self, auto& state) {
    state(self.probabilities, self.unmasked, self.labels);
  }
  bool IsSound() const {
    return probabilities.size() == labels.size() &&
           (unmasked.empty() || unmasked.size() == labels.size()) &&
           std::ranges::all_of(labels, [](uint8_t label) { return label <= 1; });
  }
};

}  // namespace weir::eval
