#include "common/config/validate_update.h"

#include <cmath>
#include <limits>
#include <string>

namespace weir::config {
namespace {

constexpr double kMaxFloat = std::numeric_limits<float>::max();
constexpr int64_t kMaxSteps = int64_t{1} << 40;
// Steps at rest are summed up until a gradient has faded to nothing: 0.999 takes some 20,000.
constexpr double kMaxFade = 0.999;

void ValidateLearningRate(const std::string& path, bool is_set, double rate,
                          Violations* violations) {
  if (!is_set) {
    violations->Add(path + ".learning_rate", "is not set; give it, for example 0.01");
  } else if (!(std::isfinite(static_cast<float>(rate)) && static_cast<float>(rate) > 0)) {
    violations->Add(path + ".learning_rate", rate, " is not a positive 32-bit float; choose one");
  }
}

void ValidateAdagrad(const std::string& path, const v1::AdagradRule& rule, Violations* violations) {
  ValidateLearningRate(path, rule.has_learning_rate(), rule.learning_rate(), violations);
  violations->RequireRange(path + ".initial_accumulator", rule.initial_accumulator(), 0, kMaxFloat);
  violations->RequireRange(path + ".epsilon", rule.epsilon(), 0, kMaxFloat);
  if (static_cast<float>(rule.initial_accumulator()) == 0 &&
      static_cast<float>(rule.epsilon()) == 0) {
    violations->Add(path, "epsilon and initial_accumulator are both 0, so a zero gradient would ",
                    "divide 0 by 0; make one of them positive");
  }
}

void ValidateMomentum(const std::string& path, const v1::MomentumRule& rule,
                      Violations* violations) {
  ValidateLearningRate(path, rule.has_learning_rate(), rule.learning_rate(), violations);
  violations->RequireRange(path + ".momentum", rule.momentum(), 0, kMaxFade);
}

void ValidateAdam(const std::string& path, const v1::AdamRule& rule, Violations* violations) {
  ValidateLearningRate(path, rule.has_learning_rate(), rule.learning_rate(), violations);
  violations->RequireRange(path + ".beta1", rule.beta1(), 0, kMaxFade);
  // Told in words: the greatest one would be shown as 1.
  if (!(rule.beta2() >= 1e-6 && rule.beta2() <= 1 - 1e-9)) {
    violations->Add(path + ".beta2", rule.beta2(),
                    " is out of range; choose from 1e-06 to 1 - 1e-09, for example 0.999");
  }
  violations->RequireRange(path + ".epsilon", rule.epsilon(), std::numeric_limits<float>::min(),
                           kMaxFloat);
  if (rule.beta2() > 0 && !(rule.beta1() < kMaxFade * std::sqrt(rule.beta2()))) {
    violations->Add(path, "beta1, ", rule.beta1(), ", is not below ", kMaxFade,
                    " times the square root of beta2, ", rule.beta2(),
                    ", so without gradients the steps would hardly shrink; choose a larger beta2");
  }
}

void RequireSteps(const std::string& path, bool is_set, int64_t steps, Violations* violations) {
  if (!is_set) {
    violations->Add(path, "is not set; give a number of steps");
  } else {
    violations->RequireRange(path, steps, 1, kMaxSteps);
  }
}

void ValidateDecay(const std::string& path, const v1::LearningRateSchedule& schedule,
                   Violations* violations) {
  switch (schedule.decay_case()) {
    case v1::LearningRateSchedule::kStep: {
      const v1::StepDecay& decay = schedule.step();
      RequireSteps(path + ".step.every", decay.has_every(), decay.every(), violations);
      violations->RequireRange(path + ".step.factor", decay.factor(), 1e-6, 1);
      return;
    }
    case v1::LearningRateSchedule::kPolynomial: {
      const v1::PolynomialDecay& decay = schedule.polynomial();
      RequireSteps(path + ".polynomial.steps", decay.has_steps(), decay.steps(), violations);
      violations->RequireRange(path + ".polynomial.power", decay.power(), 1e-3, 100);
      violations->RequireRange(path + ".polynomial.end", decay.end(), 0, 1);
      return;
    }
    case v1::LearningRateSchedule::kCosine: {
      const v1::CosineDecay& decay = schedule.cosine();
      RequireSteps(path + ".cosine.steps", decay.has_steps(), decay.steps(), violations);
      violations->RequireRange(path + ".cosine.end", decay.end(), 0, 1);
      return;
    }
    case v1::LearningRateSchedule::DECAY_NOT_SET:
      return;
  }
}

void ValidateSchedule(const std::string& path, const v1::LearningRateSchedule& schedule,
                      Violations* violations) {
  violations->RequireRange(path + ".warmup_steps", schedule.warmup_steps(), 0, kMaxSteps);
  violations->RequireRange(path + ".decay_start", schedule.decay_start(), 0, kMaxSteps);
  if (schedule.decay_start() < schedule.warmup_steps()) {
    violations->Add(path + ".decay_start", schedule.decay_start(), " is before the end of ", path,
                    ".warmup_steps, ", schedule.warmup_steps(),
                    "; let the rate rise before it falls");
  }
  ValidateDecay(path, schedule, violations);
}

double LearningRate(const v1::UpdateRule& rule) {
  switch (rule.rule_case()) {
    case v1::UpdateRule::kSgd:
      return rule.sgd().learning_rate();
    case v1::UpdateRule::kAdagrad:
      return rule.adagrad().learning_rate();
    case v1::UpdateRule::kRowwiseAdagrad:
      return rule.rowwise_adagrad().learning_rate();
    case v1::UpdateRule::kMomentum:
      return rule.momentum().learning_rate();
    case v1::UpdateRule::kAdam:
      return rule.adam().learning_rate();
    case v1::UpdateRule::RULE_NOT_SET:
      return 0;
  }
  return 0;
}

void ValidateOptions(const std::string& path, const v1::UpdateRule& rule, Violations* violations) {
  ValidateSchedule(path + ".schedule", rule.schedule(), violations);
  violations->RequireRange(path + ".weight_decay", rule.weight_decay(), 0, kMaxFloat);
  if (const double share = rule.weight_decay() * LearningRate(rule); share >= 1) {
    violations->Add(path + ".weight_decay", rule.weight_decay(), " times the learning rate is ",
                    share, ", so a step would take all of a value away; choose less than ",
                    1 / LearningRate(rule));
  }
  violations->RequireRange(path + ".clip_norm", rule.clip_norm(), 0, kMaxFloat);
  violations->RequireRange(path + ".l2_penalty", rule.l2_penalty(), 0, 1);
  violations->RequireRange(path + ".max_push_norm", rule.max_push_norm(), 0, kMaxFloat);
}

void ValidateRule(const std::string& path, const v1::UpdateRule& rule, const std::string& choices,
                  Violations* violations) {
  switch (rule.rule_case()) {
    case v1::UpdateRule::kSgd:
      ValidateLearningRate(path + ".sgd", rule.sgd().has_learning_rate(),
                           rule.sgd().learning_rate(), violations);
      break;
    case v1::UpdateRule::kAdagrad:
      ValidateAdagrad(path + ".adagrad", rule.adagrad(), violations);
      break;
    case v1::UpdateRule::kRowwiseAdagrad:
      ValidateAdagrad(path + ".rowwise_adagrad", rule.rowwise_adagrad(), violations);
      break;
    case v1::UpdateRule::kMomentum:
      ValidateMomentum(path + ".momentum", rule.momentum(), violations);
      break;
    case v1::UpdateRule::kAdam:
      ValidateAdam(path + ".adam", rule.adam(), violations);
      break;
    case v1::UpdateRule::RULE_NOT_SET:
      return violations->Add(path, "has no rule; choose ", choices);
  }
  ValidateOptions(path, rule, violations);
}

}  // namespace

void ValidateUpdate(const v1::UpdateConfig& update, Violations* violations) {
  ValidateRule("update.dense", update.dense(), "sgd, adagrad, momentum or adam", violations);
  ValidateRule("update.rows", update.rows(), "sgd, adagrad, rowwise_adagrad, momentum or adam",
               violations);
  if (update.dense().has_rowwise_adagrad()) {
    violations->Add("update.dense",
                    "rowwise_adagrad is for embedding rows; choose sgd, adagrad, momentum or adam");
  }
  if (update.rows().dense_semantics()) {
    violations->Add(
        "update.rows.dense_semantics",
        "is for the MLPs; a row is brought up to date whenever it is read, so leave it out");
  }
}

}  // namespace weir::config
