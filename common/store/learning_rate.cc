#include "common/store/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace weir::store {
namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

// From 1 down to `end`; shape: from 1 down to 0.
double Between(double end, double shape) { return (1 - end) * shape + end; }

}  // namespace

LearningRate::LearningRate(double rate, const v1::LearningRateSchedule& schedule)
    : rate_(rate), schedule_(schedule) {}

double LearningRate::At(uint64_t step) const {
  const auto now = static_cast<double>(step);
  const auto warmup = static_cast<double>(schedule_.warmup_steps());
  const double rise = now < warmup ? now / warmup : 1.0;
  return rate_ * rise * DecayAt(now - static_cast<double>(schedule_.decay_start()));
}

// step: since decay_start, and perhaps before it.
double LearningRate::DecayAt(double step) const {
  if (step <= 0) return 1;
  switch (schedule_.decay_case()) {
    case v1::LearningRateSchedule::kStep: {
      const v1::StepDecay& decay = schedule_.step();
      return std::pow(decay.factor(), std::floor(step / static_cast<double>(decay.every())));
    }
    case v1::LearningRateSchedule::kPolynomial: {
      const v1::PolynomialDecay& decay = schedule_.polynomial();
      const double left = std::max(0.0, 1 - step / static_cast<double>(decay.steps()));
      return Between(decay.end(), std::pow(left, decay.power()));
    }
    case v1::LearningRateSchedule::kCosine: {
      const v1::CosineDecay& decay = schedule_.cosine();
      const double done = std::min(1.0, step / static_cast<double>(decay.steps()));
      return Between(decay.end(), (1 + std::cos(std::numbers::pi * done)) / 2);
    }
    case v1::LearningRateSchedule::DECAY_NOT_SET:
      return 1;
  }
  return 1;
}

uint64_t LearningRate::settled_step() const {
  const auto start = static_cast<uint64_t>(schedule_.decay_start());
  const auto warmup = static_cast<uint64_t>(schedule_.warmup_steps());
  switch (schedule_.decay_case()) {
    case v1::LearningRateSchedule::kStep:
      return schedule_.step().factor() == 1 ? warmup : kNever;
    case v1::LearningRateSchedule::kPolynomial:
      return std::max(warmup, start + static_cast<uint64_t>(schedule_.polynomial().steps()));
    case v1::LearningRateSchedule::kCosine:
      return std::max(warmup, start + static_cast<uint64_t>(schedule_.cosine().steps()));
    case v1::LearningRateSchedule::DECAY_NOT_SET:
      return warmup;
  }
  return kNever;
}

}  // namespace weir::store
