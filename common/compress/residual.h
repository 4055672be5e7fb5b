// What a policy has not sent yet of one layer: the error-feedback buffer, shared by the Hogwild
// threads of a worker and taken by stripes.
//
// A stripe is read, changed and written under its lock; without it two threads would send the same
// mass twice or lose it. The locks spin: a stripe is held for about a microsecond.
//
// Place in the life of a batch: backward -> **residual += gradient** -> select.
// Thread rule: any thread, through a guard.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "common/layout/model_layout.h"
#include "common/tensor/aligned_buffer.h"

namespace weir::compress {

class Residual {
 public:
  // All zero.
  explicit Residual(int64_t element_count);

  // Access to one stripe for as long as the guard lives.
  class Guard {
   public:
    Guard(std::atomic<bool>* lock, std::span<float> values) : lock_(lock), values_(values) {}
    Guard(Guard&& other) noexcept : lock_(other.lock_), values_(other.values_) {
      other.lock_ = nullptr;
    }
    Guard& operator=(Guard&&) = delete;
    ~Guard() {
      if (lock_ != nullptr) lock_->store(false, std::memory_order_release);
    }
    std::span<float> values() const { return values_; }

   private:
    std::atomic<bool>* lock_;
    std::span<float> values_;
  };

  std::optional<Guard> TryLock(uint32_t stripe);
  Guard Lock(uint32_t stripe);

  // Calls visit(first, values) for each stripe, locked, in order; first: its first element's index.
  template <typename Visit>
  void ForEachStripe(const Visit& visit) {
    for (uint32_t stripe = 0; stripe < stripe_count_; ++stripe) {
      const Guard guard = Lock(stripe);
      visit(stripe * kStripeElements, guard.values());
    }
  }

  // L2, for reports; each stripe as it is when it is looked at.
  double Norm();

  uint32_t stripe_count() const { return stripe_count_; }
  int64_t element_count() const { return element_count_; }

 private:
  std::span<float> Stripe(uint32_t stripe);

  const int64_t element_count_;
  const uint32_t stripe_count_;
  tensor::AlignedBuffer values_;
  std::unique_ptr<std::atomic<bool>[]> locks_;
};

}  // namespace weir::compress
