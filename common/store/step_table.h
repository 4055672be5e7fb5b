// What steps without a gradient need to know of each step, for rules that move in them: a table of
// the steps so far, so that a whole run of such steps is done at once.
//
// It grows with the steps, by 4096 of them at a time, until the learning rate and Adam's bias
// corrections stay as they are: some 20 bytes a step, more when momentum fades slowly (0.99: 26,
// 0.999: 81).
//
// Place in the life of a batch: push -> number -> decode -> **apply**.
// Thread rule: any thread; what is not there yet is made under a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/base/mutex.h"

namespace weir::store {

// Of one step.
struct StepFactors {
  double rate = 0;         // of the displacement, per unit of momentum
  double scaled_rate = 0;  // rate times what the root of the second moment is divided by
  double log_keep = 0;     // the logarithm of what weight decay leaves of a value
};

class StepTable {
 public:
  // factors: of a step from 1 on, constant from settled_step on. window: the most steps in a row
  // that At gives. A step after the 2^28th is taken for that one.
  StepTable(std::function<StepFactors(uint64_t step)> factors, uint64_t settled_step,
            size_t window);
  ~StepTable();
  StepTable(const StepTable&) = delete;
  StepTable& operator=(const StepTable&) = delete;

  // [window] each, of step, step + 1, ...; step: from 1.
  struct Steps {
    const float* rates;
    const float* scaled_rates;
    const float* keeps;
  };
  Steps At(uint64_t step) const;

  // The logarithm of what weight decay leaves of a value in the first `step` steps.
  double LogKept(uint64_t step) const;

 private:
  static constexpr size_t kBlockSteps = 4096;
  static constexpr size_t kMaxBlocks = size_t{1} << 16;

  // Steps [kBlockSteps * number, and kBlockSteps + window more).
  struct Block {
    std::vector<float> rates, scaled_rates, keeps;
    std::vector<double> log_kept;  // [kBlockSteps], up to and including each step
  };

  const Block& BlockOf(uint64_t step) const;
  const Block& Make(size_t number) const;
  std::unique_ptr<const Block> MakeNext(size_t number, double log_kept) const;

  const std::function<StepFactors(uint64_t)> factors_;
  const uint64_t settled_step_;
  const size_t window_;
  mutable Mutex mutex_;
  mutable size_t block_count_ WEIR_GUARDED_BY(mutex_) = 0;
  mutable std::unique_ptr<std::array<std::atomic<const Block*>, kMaxBlocks>> blocks_;
};

}  // namespace weir::store
