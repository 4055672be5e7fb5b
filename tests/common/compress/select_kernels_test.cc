#include "common/compress/select_kernels.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/common/compress/policy_support.h"

namespace weir::compress {
namespace {

int call_count = 0;

template <auto kEntry>
struct Counted;

// Passes its calls on to the CPU's.
template <typename Result, typename... Arguments, Result (*SelectKernels::*kEntry)(Arguments...)>
struct Counted<kEntry> {
  static Result Call(Arguments... arguments) {
    ++call_count;
    return (CpuSelectKernels().*kEntry)(std::forward<Arguments>(arguments)...);
  }
};

constexpr SelectKernels kCounting = {
    .accumulate = Counted<&SelectKernels::accumulate>::Call,
    .accumulate_and_select = Counted<&SelectKernels::accumulate_and_select>::Call,
    .accumulate_and_quantize = Counted<&SelectKernels::accumulate_and_quantize>::Call,
    .round_selection = Counted<&SelectKernels::round_selection>::Call,
    .collect_reaching = Counted<&SelectKernels::collect_reaching>::Call,
    .accumulate_and_test = Counted<&SelectKernels::accumulate_and_test>::Call,
    .accumulate_and_take_quanta = Counted<&SelectKernels::accumulate_and_take_quanta>::Call,
    .sum_bucket = Counted<&SelectKernels::sum_bucket>::Call,
    .append_levels = Counted<&SelectKernels::append_levels>::Call,
    .add_ordered_squares = Counted<&SelectKernels::add_ordered_squares>::Call,
    .moments_above = Counted<&SelectKernels::moments_above>::Call,
    .log_sum = Counted<&SelectKernels::log_sum>::Call,
};

// A layer of two stripes, the last one short.
constexpr int64_t kOddElements = kStripeElements + 100;

int CallsOf(const std::function<void()>& work) {
  call_count = 0;
  work();
  return call_count;
}

// But `none`, which computes nothing.
TEST(SelectKernels, APolicyComputesEachStripeByThoseOfItsScope) {
  for (const std::string& form : PolicyForms()) {
    if (form == "none") continue;
    Selector counted(RuleNamed(form), MakeScope(kOddElements));
    counted.scope.kernels = &kCounting;
    counted.state = counted.policy->MakeState(counted.scope);
    const Selector plain(RuleNamed(form), MakeScope(kOddElements));
    for (uint64_t step = 0; step < 3; ++step) {
      const std::vector<float> gradient = NormalGradient(kOddElements, step, 2.0);
      Sent sent;
      EXPECT_GE(CallsOf([&] { sent = counted.Step(gradient); }), 2) << form;
      EXPECT_EQ(sent.values, plain.Step(gradient).values) << form;
    }
    if (!counted.policy->keeps_residual()) continue;
    const std::vector<float> gradient = NormalGradient(kOddElements, 9);
    const auto accumulate = [&] { counted.policy->Accumulate(*counted.state, gradient); };
    EXPECT_EQ(CallsOf(accumulate), 2) << form;
  }
}

// What a policy does to a stripe beside accumulating it.
TEST(SelectKernels, CandidatesAndRoundingAreThoseOfTheScopeToo) {
  constexpr int kStripes = 2;
  for (const auto& [form, kernels_of_a_stripe] : {std::pair{"top_k", 3}, {"random_k", 2}}) {
    Selector counted(RuleNamed(form), MakeScope(kOddElements, wire::ValueCoding::kBf16));
    counted.scope.kernels = &kCounting;
    counted.state = counted.policy->MakeState(counted.scope);
    const std::vector<float> gradient = NormalGradient(kOddElements, 1);
    EXPECT_EQ(CallsOf([&] { counted.Step(gradient); }), kStripes * kernels_of_a_stripe) << form;
  }
}

}  // namespace
}  // namespace weir::compress
