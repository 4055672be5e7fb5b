// What the tests of the policies share: rules with their defaults, whole steps on one thread, and
// the residual as it can be seen from outside.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/hogwild.h"
#include "common/base/random.h"
#include "common/compress/host_range_select.h"
#include "common/compress/policy.h"
#include "common/compress/policy_table.h"
#include "common/compress/residual.h"
#include "common/config/defaults.h"
#include "common/device/cpu_device.h"

namespace weir::compress {

inline v1::PolicyRule WithDefaults(v1::PolicyRule rule) {
  config::FillDefaults(&rule);
  return rule;
}

// Of the layers of MLPs; lazy_rows is for rows.
inline std::vector<std::string> PolicyNames() {
  const auto& fields = *v1::PolicyRule::descriptor()->FindOneofByName("policy");
  std::vector<std::string> names;
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i)->name() != "lazy_rows") names.push_back(fields.field(i)->name());
  }
  return names;
}

// Each policy, and what there is of forms that select or keep by other means: "sidco PARETO".
inline std::vector<std::string> PolicyForms() {
  std::vector<std::string> forms = PolicyNames();
  forms.insert(forms.end(), {"dct ONE_BASED", "dct SORTED", "sidco GAMMA", "sidco PARETO",
                             "sidco UNCAPPED", "sidco WHOLE", "variance FEEDBACK", "variance LAYER",
                             "hybrid AFTER", "deft ONCE", "exdyna PAPER", "exdyna LITERAL"});
  return forms;
}

// The rule of a policy or form with defaults, and a value for each field that has none.
inline v1::PolicyRule RuleNamed(const std::string& form) {
  v1::PolicyRule rule;
  const std::string name = form.substr(0, form.find(' '));
  google::protobuf::Message& policy = *rule.GetReflection()->MutableMessage(
      &rule, v1::PolicyRule::descriptor()->FindFieldByName(name));
  const auto set = [&policy](const char* field_name, double value) {
    const auto* field = policy.GetDescriptor()->FindFieldByName(field_name);
    if (field != nullptr) policy.GetReflection()->SetDouble(&policy, field, value);
  };
  set("sparsity", 0.9);
  set("threshold", 1);
  if (form == "sidco GAMMA") rule.mutable_sidco()->set_distribution(v1::SidcoPolicy::GAMMA);
  if (form == "sidco PARETO") rule.mutable_sidco()->set_distribution(v1::SidcoPolicy::PARETO);
  if (form == "dct ONE_BASED") rule.mutable_dct()->set_one_based_rank(true);
  if (form == "dct SORTED") rule.mutable_dct()->set_quantile(v1::DctPolicy::SORTED);
  if (form == "sidco UNCAPPED") rule.mutable_sidco()->set_cap_at_largest(false);
  if (form == "sidco WHOLE") rule.mutable_sidco()->set_whole_layer(true);
  if (form == "variance LAYER") rule.mutable_variance()->set_exponent_of_layer(true);
  if (form == "variance FEEDBACK") rule.mutable_variance()->set_quant_error_feedback(true);
  if (form == "hybrid AFTER") rule.mutable_hybrid()->set_correction(v1::HybridPolicy::AFTER);
  if (form == "deft ONCE") rule.mutable_deft()->set_dealing(v1::DeftPolicy::ONCE);
  if (form == "exdyna PAPER") rule.mutable_exdyna()->set_start(v1::ExdynaPolicy::PAPER);
  if (form == "exdyna LITERAL") rule.mutable_exdyna()->set_literal_partitions(true);
  return WithDefaults(rule);
}

struct DctOptions {
  double sparsity = 0.99;
  int32_t lifespan = 1000;
  v1::DctPolicy::Start start = v1::DctPolicy::DOUBLING;
  bool controller = true;
  v1::DctPolicy::DrainMode drain = v1::DctPolicy::NO_DRAIN;
  int64_t drain_period = 1'000'000;
  double drain_factor = 0.9;
  bool one_based_rank = false;
  v1::DctPolicy::Quantile quantile = v1::DctPolicy::SAMPLED;
};

inline std::unique_ptr<const Policy> MakeDct(const DctOptions& options) {
  v1::PolicyRule rule;
  v1::DctPolicy& dct = *rule.mutable_dct();
  dct.set_sparsity(options.sparsity);
  dct.set_lifespan(options.lifespan);
  dct.set_start(options.start);
  dct.set_controller(options.controller);
  dct.set_drain(options.drain);
  dct.set_drain_period(options.drain_period);
  dct.set_drain_factor(options.drain_factor);
  dct.set_one_based_rank(options.one_based_rank);
  dct.set_quantile(options.quantile);
  return MakePolicy(WithDefaults(rule));
}

inline Scope MakeScope(int64_t element_count, wire::ValueCoding values = wire::ValueCoding::kF32) {
  return {.tensor = 3, .element_count = element_count, .values = values, .seed = 17};
}

// The part of a layer's gradient that belongs to a stripe.
inline std::span<const float> StripeOf(std::span<const float> gradient, const Scope& scope,
                                       uint32_t stripe) {
  return gradient.subspan(static_cast<size_t>(stripe * kStripeElements),
                          static_cast<size_t>(scope.stripe_elements(stripe)));
}

struct Sent {
  StepPlan plan;
  bool dense = false;            // what the last stripe sent
  std::vector<int64_t> indexes;  // within the tensor
  std::vector<float> values;
  std::vector<float> units;  // of codes: how many times its scale each value is
};

inline void AppendSelection(uint32_t stripe, const StripeSelection& selection,
                            const wire::ValueFormat& format, Sent* sent) {
  sent->dense = selection.dense;
  for (uint32_t i = 0; i < selection.count; ++i) {
    const int64_t element = stripe * kStripeElements + (selection.dense ? i : selection.indexes[i]);
    const float value = selection.values[i];
    sent->indexes.push_back(element);
    sent->values.push_back(value);
    if (!wire::IsScaled(format.coding)) continue;
    sent->units.push_back(value / format.scales[format.ScaleIndex(element, std::signbit(value))]);
  }
}

// As a backward pass does, where the policy asks for it.
WEIR_HOGWILD inline void AddSquares(const Policy& policy, PolicyState& state,
                                    std::span<const float> squares) {
  const auto [on_device, decay] = policy.square_sums(state);
  const std::span<float> sums = device::OnHost(on_device);
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = sums[i] * decay + squares[i];
}

// Of a batch of so many like samples.
inline void AddSquaresOfLike(const Policy& policy, PolicyState& state,
                             std::span<const float> gradient, float samples) {
  std::vector<float> squares;
  for (const float value : gradient) squares.push_back(value * value / samples);
  AddSquares(policy, state, squares);
}

// Of policies whose trainers agree: what one that agrees with nobody does between BeginStep and the
// stripes. By a new proposer in each step, as if it had just joined.
inline void AgreeWithItself(const Policy& policy, PolicyState& state, const Scope& scope,
                            StepPlan* plan, std::vector<uint32_t>* agreed) {
  const auto proposer = policy.MakeProposer(std::array{scope.element_count});
  if (proposer == nullptr) return;
  HostRangeSelect residuals({policy.residual(state)});
  Proposal proposal;
  proposer->Propose({.step = plan->step}, residuals, &proposal);
  *agreed = std::move(proposal.indexes[0]);
  plan->agreed = *agreed;
}

// A step with credit, all stripes in order.
inline Sent SelectAll(const Policy& policy, PolicyState& state, const Scope& scope,
                      std::span<const float> gradient) {
  Sent sent;
  sent.plan = policy.BeginStep(state, gradient);
  std::vector<uint32_t> agreed;
  AgreeWithItself(policy, state, scope, &sent.plan, &agreed);
  const wire::ValueFormat format = policy.value_format(scope, sent.plan);
  const auto selection = std::make_unique<StripeSelection>();
  for (uint32_t stripe = 0; stripe < scope.stripe_count(); ++stripe) {
    CHECK(policy.SelectStripe(state, sent.plan, stripe, StripeOf(gradient, scope, stripe), true,
                              selection.get()));
    AppendSelection(stripe, *selection, format, &sent);
  }
  policy.EndStep(state, sent.plan, std::ssize(sent.values));
  sent.plan.agreed = {};
  return sent;
}

// The same, of a batch of one sample.
inline Sent TakeStep(const Policy& policy, PolicyState& state, const Scope& scope,
                     std::span<const float> gradient) {
  AddSquaresOfLike(policy, state, gradient, 1);
  return SelectAll(policy, state, scope, gradient);
}

// What has not been sent.
inline std::vector<double> ResidualOf(const Policy& policy, PolicyState& state) {
  std::vector<double> all;
  policy.residual(state)->ForEachStripe([&](int64_t, std::span<float> values) {
    all.insert(all.end(), values.begin(), values.end());
  });
  return all;
}

// A policy and its memory of one layer.
struct Selector {
  Selector(const v1::PolicyRule& rule, const Scope& s)
      : policy(MakePolicy(WithDefaults(rule))), scope(s), state(policy->MakeState(s)) {}

  // Of a batch with these squares, or of one sample.
  Sent Step(std::span<const float> gradient, std::span<const float> squares) const {
    AddSquares(*policy, *state, squares);
    return SelectAll(*policy, *state, scope, gradient);
  }
  Sent Step(std::span<const float> gradient) const {
    return TakeStep(*policy, *state, scope, gradient);
  }
  std::vector<double> Residual() const { return ResidualOf(*policy, *state); }

  std::unique_ptr<const Policy> policy;
  Scope scope;
  std::unique_ptr<PolicyState> state;
};

inline std::vector<float> NormalGradient(int64_t element_count, uint64_t key, double scale = 1.0) {
  RandomStream random(key);
  std::vector<float> gradient(static_cast<size_t>(element_count));
  for (float& value : gradient) value = static_cast<float>(scale * random.NextNormal());
  return gradient;
}

}  // namespace weir::compress
