// How many batches of a run may be at work at the same time, over all trainers and their threads:
// each is computed without what the others find out, so a gradient is as stale, on average, as
// there are others (Koloskova, Stich and Jaggi, "Sharper convergence guarantees for asynchronous
// SGD for distributed and federated learning", NeurIPS 2022). Adagrad's first steps are long and
// its later ones are short, so what a run can bear grows with its steps: it begins with one batch
// at a time, and one more may be at work with every so many steps. A pure state machine.
//
// The papers bound staleness by the smoothness of the loss, which nobody knows; that it may grow in
// proportion to the steps taken is ours, as measured (docs/results/learning.md).
//
// Place in the life of a batch: before the **lease**.
// Thread rule: owner thread only (the coordinator's, or the embedded worker's input thread).
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace weir::cluster {

class Concurrency {
 public:
  static constexpr uint64_t kUnlimited = UINT32_MAX;

  // One more after every warmup_steps, 0: no limit from the start on; never more than `most`, 0: no
  // such limit.
  Concurrency(uint64_t warmup_steps, uint64_t most)
      : warmup_steps_(warmup_steps), most_(most == 0 ? kUnlimited : most) {}

  // The steps up to this one were others', of the model that the run goes on from: its update rules
  // begin anew, and with them what they can bear.
  void BeginAfter(uint64_t step) { first_ = step_ = step; }

  // The run has taken this step, or a later one.
  void Reach(uint64_t step) { step_ = std::max(step_, step); }

  // Batches at the same time; at least 1.
  uint64_t allowed() const {
    return warmup_steps_ == 0 ? most_ : std::min(1 + (step_ - first_) / warmup_steps_, most_);
  }
  // A trainer's part, of `trainers` at work.
  uint32_t ShareOfEach(uint64_t trainers) const {
    return static_cast<uint32_t>(
        std::max<uint64_t>(1, allowed() / std::max<uint64_t>(1, trainers)));
  }

  // Every push has a step: another one is saved only when more is allowed by it.
  static void Fields(auto& self, auto& state) {
    if constexpr (std::is_const_v<std::remove_reference_t<decltype(self)>>) {
      state(self.first_, self.LeastStep());
    } else {
      state(self.first_, self.step_);
    }
  }
  bool IsSound() const { return first_ <= step_; }

 private:
  // By which as much is allowed.
  uint64_t LeastStep() const {
    return warmup_steps_ == 0 ? first_ : step_ - (step_ - first_) % warmup_steps_;
  }

  const uint64_t warmup_steps_;
  const uint64_t most_;
  uint64_t first_ = 0;
  uint64_t step_ = 0;
};

}  // namespace weir::cluster
