// A layer's selection as a training step has it, for weir-bench: BeginStep, every stripe, EndStep.
// Of a policy whose trainers agree, that of one trainer alone, with its proposal.
//
// Gradients are normal, with another scale in each row of 512 elements, and differ in every step:
// each step reads another window of one buffer. As after a backward pass they are in the cache if
// they fit.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "common/base/status.h"
#include "common/compress/host_range_select.h"
#include "common/compress/policy.h"
#include "common/tensor/aligned_buffer.h"
#include "common/wire/piece_frame.h"

namespace weir::bench {

class Gradients {
 public:
  explicit Gradients(int64_t element_count);

  // Another one at each call.
  std::span<const float> Next();

  // Adds up the squares that a batch without a common direction has: those of each element's scale.
  void AddSquares(const compress::SquareSums& squares) const;

 private:
  const int64_t element_count_;
  tensor::AlignedBuffer values_;
  int64_t window_ = 0;
};

// DCT-DP with its controller, never drained.
v1::PolicyRule DctRule(int percent, int32_t lifespan = 1000);

struct SelectOptions {
  v1::PolicyRule rule = DctRule(99);
  int64_t element_count = 0;
  wire::ValueCoding values = wire::ValueCoding::kF32;
  bool encodes = false;  // each piece of a step into a frame, as a push has it
};

// One layer with its residual.
class SelectLayer {
 public:
  // gradients: outlives the layer.
  SelectLayer(const SelectOptions& options, Gradients& gradients);
  // By that policy, whatever the options' rule.
  SelectLayer(const SelectOptions& options, std::unique_ptr<const compress::Policy> policy,
              Gradients& gradients);

  void Steps(int count);
  // The same. The seconds of selection and coding: what a backward pass adds to sums of squares is
  // no part of them.
  double TimedSteps(int count);

  // Steps of which nothing is sent: what bounds selection.
  void AccumulateSteps(int count);

  // In the steps since Forget: elements sent of all, and bits of frames for each that was sent.
  double density() const;
  double BitsPerElement() const;
  void Forget() { sent_ = steps_ = frame_bytes_ = 0; }
  // That is the wanted share, within 15 %.
  Status CheckDensity(int percent);

  // Takes a step and reads its frames as a server does: what was selected is in them, to the bit.
  Status CheckFrames();

  // The last step's.
  double threshold() const { return policy_->threshold(*state_); }

  // Takes steps from a residual of zero, and each selects what a plain loop would, to the bit.
  // Only on a layer that took none before.
  Status CheckAgainstPlainLoop(int count);

 private:
  using Observe = std::function<void(uint32_t stripe, const compress::StripeSelection&)>;

  std::span<const float> NextGradient();
  void Step(std::span<const float> gradient, const Observe* observe);
  void Agree(compress::StepPlan* plan);
  int64_t PieceElements(int64_t begin) const;  // of the piece that begins there
  void OpenFrame(const wire::ValueFormat& format, uint32_t stripe);
  void Append(uint32_t stripe);
  void CloseFrame();

  const SelectOptions options_;
  const std::unique_ptr<const compress::Policy> policy_;
  const compress::Scope scope_;
  const std::unique_ptr<compress::PolicyState> state_;
  const std::unique_ptr<compress::Proposer> proposer_;  // or null
  compress::Proposal proposal_;
  compress::HostRangeSelect residuals_;
  const std::unique_ptr<compress::StripeSelection> selection_;
  Gradients& gradients_;
  wire::PieceFrameWriter writer_;
  Bytes frames_;  // of a step
  int64_t sent_ = 0, steps_ = 0, frame_bytes_ = 0;
};

}  // namespace weir::bench
