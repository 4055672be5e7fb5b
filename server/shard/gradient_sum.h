// Gradients of several workers for one piece, added up element by element.
//
// Place in the life of a batch: push -> decode -> **add up** -> apply -> stamp -> answer.
// Thread rule: thread-compatible; memory is that of the largest piece, and grows only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/layout/placement.h"
#include "common/wire/piece_frame.h"

namespace weir::server {

class GradientSum {
 public:
  // For a piece of so many elements. Nothing is added yet, or to a piece of the same size.
  void Resize(int64_t element_count);

  // Sums are taken in the order of the calls.
  void Add(const wire::StripeUpdate& update);

  // Calls take(update) for each stripe to which anything was added, in order: the elements that
  // have a gradient, each its sum over worker_count, or all where one was dense. Then all is zero.
  template <typename Take>
  void TakeMean(size_t worker_count, const Take& take) {
    for (uint32_t stripe = 0; stripe < touched_.size(); ++stripe) {
      if (touched_[stripe] == Touched::kNothing) continue;
      take(MeanOf(stripe, worker_count));
      Clear(stripe);
    }
  }

 private:
  enum class Touched : uint8_t { kNothing, kSomething, kAll };

  std::span<float> SumsOf(uint32_t stripe);
  wire::StripeUpdate MeanOf(uint32_t stripe, size_t worker_count);
  void Clear(uint32_t stripe);

  size_t element_count_ = 0;
  std::vector<float> sums_;
  std::vector<uint8_t> is_given_;  // per element: it has a gradient
  std::vector<Touched> touched_;   // per stripe
  std::vector<uint16_t> indexes_;  // of the stripe at hand
  std::vector<float> values_;
};

}  // namespace weir::server
