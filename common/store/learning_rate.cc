#include "common/store/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weir::store {
namespace {

// A factor that makes of any step nothing.
constexpr double kNothing = 1e-12;

// From 1 down to `end`; shape: from 1 down to 0.
double Between(double end, double shape) { return (1 - end) * shape + end; }

}  // namespace

LearningRate::LearningRate(double rate, const v1::LearningRateSchedule& schedule)
    : rate_(rate),
      schedule_(schedule),
      decay_start_(std::max<int64_t>(schedule.decay_start(), 1)) {}

double LearningRate::At(uint64_t step) const {
  const auto now = static_cast<double>(step);
  const auto warmup = static_cast<double>(schedule_.warmup_steps());
  const double rise = now < warmup ? now / warmup : 1.0;
  return rate_ * rise * DecayAt(now - static_cast<double>(decay_start_));
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
  const auto start = static_cast<uint64_t>(decay_start_);
  const auto warmup = static_cast<uint64_t>(schedule_.warmup_steps());
  switch (schedule_.decay_case()) {
    case v1::LearningRateSchedule::kStep: {
      const v1::StepDecay& decay = schedule_.step();
      if (decay.factor() == 1) return warmup;
      const double falls = std::ceil(std::log(kNothing) / std::log(decay.factor()));
      return std::max(warmup,
                      start + static_cast<uint64_t>(falls) * static_cast<uint64_t>(decay.every()));
    }
    case v1::LearningRateSchedule::kPolynomial:
      return std::max(warmup, start + static_cast<uint64_t>(schedule_.polynomial().steps()));
    case v1::LearningRateSchedule::kCosine:
      return std::max(warmup, start + static_cast<uint64_t>(schedule_.cosine().steps()));
    case v1::LearningRateSchedule::DECAY_NOT_SET:
      return warmup;
  }
  return warmup;
}

}  // namespace weir::store
