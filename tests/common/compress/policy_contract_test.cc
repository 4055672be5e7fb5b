// What every policy of the config must do, whatever it selects. A new field of PolicyRule is found
// here by reflection and fails until it has a row in the table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "common/base/strings.h"
#include "common/compress/saved_state.h"
#include "common/config/policy_rules.h"
#include "google/protobuf/text_format.h"
#include "tests/common/compress/policy_support.h"

namespace weir::compress {
namespace {

// That the rules of a config choose.
std::vector<std::string> PoliciesOf(const std::string& config) {
  std::ifstream file(StrCat(WEIR_SOURCE_DIR, "/", config));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  v1::Config parsed;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &parsed)) << config;
  std::vector<std::string> names = {
      std::string(config::PolicyName(parsed.compression().default_()))};
  for (const v1::PolicyRule& rule : parsed.compression().layer()) {
    names.emplace_back(config::PolicyName(rule));
  }
  return names;
}

TEST(PolicyTable, HasAFileATestAndAnExampleForEachField) {
  for (const std::string& name : PolicyNames()) {
    // The first policy's file has the name of its paper's half that it is.
    const std::string file = name == "dct" ? "dct_dp" : name;
    const std::string config =
        StrCat("configs/policies/", name == "dct" ? "dct_99" : name, ".textproto");
    for (const std::string& path :
         {StrCat("common/compress/", file, ".cc"),
          StrCat("tests/common/compress/", name == "none" ? "policy_contract" : file, "_test.cc"),
          config}) {
      EXPECT_TRUE(std::filesystem::exists(StrCat(WEIR_SOURCE_DIR, "/", path))) << path;
    }
    EXPECT_THAT(PoliciesOf(config), testing::Contains(name)) << config;
  }
  for (const char* path :
       {"common/compress/row_residual.cc", "tests/common/compress/row_residual_test.cc"}) {
    EXPECT_TRUE(std::filesystem::exists(StrCat(WEIR_SOURCE_DIR, "/", path))) << path;
  }
  EXPECT_THAT(PoliciesOf("configs/policies/lazy_rows.textproto"), testing::Contains("lazy_rows"));
}

TEST(PolicyTable, HasAPolicyForEachFieldOfTheConfig) {
  ASSERT_GE(PolicyNames().size(), 2u);
  for (const std::string& name : PolicyNames()) {
    EXPECT_EQ(MakePolicy(RuleNamed(name))->name(), name);
  }
}

// What a policy promises about what it does not send, apart from keeping it.
enum class Promise { kConserves, kIsRightOnAverage, kForgetsRounding };

Promise PromiseOf(const std::string& form) {
  if (form == "variance" || form == "variance LAYER") return Promise::kForgetsRounding;
  if (form == "qsgd" || form == "terngrad") return Promise::kIsRightOnAverage;
  return Promise::kConserves;
}

using NameAndValues = std::tuple<std::string, wire::ValueCoding>;

class PolicyContract : public testing::TestWithParam<NameAndValues> {
 protected:
  std::unique_ptr<const Policy> Make() const {
    return MakePolicy(RuleNamed(std::get<0>(GetParam())));
  }
  Scope MakeScope(int64_t elements) const {
    return compress::MakeScope(elements, std::get<1>(GetParam()));
  }

  Promise promise() const { return PromiseOf(std::get<0>(GetParam())); }

  static bool Agrees(const Policy& policy) { return policy.MakeProposer({}) != nullptr; }

  // As the coding can say it: a level, or a power of two.
  static bool IsUnit(float unit, wire::ValueCoding coding) {
    const float magnitude = std::fabs(unit);
    return coding == wire::ValueCoding::kLevels
               ? std::fabs(magnitude - std::round(magnitude)) < 1e-4f
               : std::log2(magnitude) == std::floor(std::log2(magnitude));
  }

  void ExpectSound(const Policy& policy, const Scope& scope, const Sent& sent) const {
    const wire::ValueFormat format = policy.value_format(scope, sent.plan);
    ASSERT_EQ(sent.indexes.size(), sent.values.size());
    int64_t next = 0;
    for (size_t i = 0; i < sent.indexes.size(); ++i) {
      ASSERT_GE(sent.indexes[i], next) << "sorted, each once";
      ASSERT_LT(sent.indexes[i], scope.element_count);
      next = sent.indexes[i] + 1;
      // What trainers agreed on is sent whatever is left of it, or rounds to.
      if (!sent.dense && !Agrees(policy)) {
        ASSERT_NE(sent.values[i], 0);
      }
      if (wire::IsScaled(format.coding)) {
        ASSERT_TRUE(sent.values[i] == 0 || IsUnit(sent.units[i], format.coding)) << sent.units[i];
      } else if (sent.values[i] == sent.values[i]) {
        ASSERT_EQ(sent.values[i], wire::Round(sent.values[i], format.coding)) << "as decoded";
      }
    }
    if (sent.dense) {
      ASSERT_EQ(std::ssize(sent.indexes), scope.element_count);
    }
  }
};

TEST_P(PolicyContract, SelectsSortedIndexesInRangeAndDecodedValues) {
  const auto policy = Make();
  for (const int64_t elements : {int64_t{0}, int64_t{1}, int64_t{2}, kStripeElements - 1,
                                 kStripeElements, kStripeElements + 1, 3 * kStripeElements + 17}) {
    const Scope scope = MakeScope(elements);
    const auto state = policy->MakeState(scope);
    for (uint64_t step = 0; step < 6; ++step) {
      ExpectSound(*policy, scope, TakeStep(*policy, *state, scope, NormalGradient(elements, step)));
    }
  }
}

// A state that was saved and one that it is loaded into send the same from there on.
TEST_P(PolicyContract, GoesOnFromASavedStateAsIfNothingHadBeen) {
  const auto policy = Make();
  for (const int64_t elements : {int64_t{1}, int64_t{500}, 2 * kStripeElements + 17}) {
    const Scope scope = MakeScope(elements);
    for (const uint64_t saved_after : {0, 1, 7}) {
      const auto state = policy->MakeState(scope);
      uint64_t step = 0;
      for (; step < saved_after; ++step) {
        TakeStep(*policy, *state, scope, NormalGradient(elements, step));
      }
      Bytes saved;
      SaveState(*policy, *state, &saved);
      const auto restored = policy->MakeState(scope);
      ASSERT_TRUE(LoadState(*policy, saved, true, restored.get()).ok());
      Bytes again;
      SaveState(*policy, *restored, &again);
      EXPECT_EQ(saved, again);
      for (; step < saved_after + 12; ++step) {
        const std::vector<float> gradient = NormalGradient(elements, step);
        const Sent wanted = TakeStep(*policy, *state, scope, gradient);
        const Sent sent = TakeStep(*policy, *restored, scope, gradient);
        ASSERT_EQ(sent.indexes, wanted.indexes) << step << " after " << saved_after;
        ASSERT_EQ(sent.values, wanted.values) << step << " after " << saved_after;
      }
    }
  }
}

TEST_P(PolicyContract, RefusesWhatIsNoSavedState) {
  const auto policy = Make();
  const Scope scope = MakeScope(100);
  const auto state = policy->MakeState(scope);
  for (uint64_t step = 0; step < 3; ++step) {
    TakeStep(*policy, *state, scope, NormalGradient(100, step));
  }
  Bytes saved;
  SaveState(*policy, *state, &saved);
  const auto refuses = [&](ByteSpan bytes, int64_t elements) {
    const auto other = policy->MakeState(MakeScope(elements));
    return !LoadState(*policy, bytes, true, other.get()).ok();
  };
  for (size_t size = 0; size < saved.size(); ++size) {
    ASSERT_TRUE(refuses(ByteSpan(saved).first(size), 100)) << "cut at " << size;
  }
  EXPECT_EQ(refuses(saved, 101), policy->keeps_residual()) << "of another layer";
  saved.push_back(0);
  EXPECT_TRUE(refuses(saved, 100)) << "more than a state";
}

// Where the rule is another one, what was not sent is no less worth sending.
TEST_P(PolicyContract, TakesOverTheResidualOfAnotherPolicy) {
  const Selector dct(RuleNamed("dct"), MakeScope(1000));
  for (uint64_t step = 0; step < 3; ++step) dct.Step(NormalGradient(1000, step));
  Bytes saved;
  SaveState(*dct.policy, *dct.state, &saved);
  EXPECT_TRUE(HasResidual(saved));
  const auto policy = Make();
  const Scope scope = MakeScope(1000);
  const auto state = policy->MakeState(scope);
  ASSERT_TRUE(LoadState(*policy, saved, false, state.get()).ok());
  if (policy->keeps_residual()) {
    EXPECT_EQ(ResidualOf(*policy, *state), dct.Residual());
  }
  ExpectSound(*policy, scope, TakeStep(*policy, *state, scope, NormalGradient(1000, 3)));
}

TEST_P(PolicyContract, SendsNothingForNothingUnlessItSendsEverything) {
  const auto policy = Make();
  const Scope scope = MakeScope(kStripeElements + 100);
  const auto state = policy->MakeState(scope);
  const std::vector<float> zeros(static_cast<size_t>(scope.element_count));
  for (int step = 0; step < 5; ++step) {
    const Sent sent = TakeStep(*policy, *state, scope, zeros);
    // Exdyna has something to say in each step, whatever it is.
    const size_t wanted = policy->name() == "exdyna" ? 1 : 0;
    EXPECT_EQ(sent.values.size(), policy->name() == "none" ? zeros.size() : wanted);
  }
}

// Three steps with one gradient. Where it is finite, what is sent is finite and, of a policy that
// conserves, nothing is lost; elsewhere nothing is promised but sound indexes.
TEST_P(PolicyContract, TakesOddInputs) {
  constexpr int kSteps = 3;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const auto policy = Make();
  const Scope scope = MakeScope(kStripeElements + 100);
  for (const float odd : {1.0f, -0.0f, 1e-45f, -1e-39f, 1e38f, kInfinity, -kInfinity, kNaN}) {
    for (const size_t stride : {1u, 3u}) {
      SCOPED_TRACE(testing::Message() << odd << " at every " << stride);
      std::vector<float> gradient = NormalGradient(scope.element_count, 2);
      for (size_t i = 0; i < gradient.size(); i += stride) gradient[i] = odd;
      const auto state = policy->MakeState(scope);
      std::vector<double> sums(gradient.size()), sizes(gradient.size());
      for (int step = 0; step < kSteps; ++step) {
        const Sent sent = TakeStep(*policy, *state, scope, gradient);
        ASSERT_NO_FATAL_FAILURE(ExpectSound(*policy, scope, sent));
        for (size_t i = 0; i < sent.values.size(); ++i) {
          const auto index = static_cast<size_t>(sent.indexes[i]);
          if (!std::isfinite(gradient[index])) continue;
          ASSERT_TRUE(std::isfinite(sent.values[i])) << index;
          sums[index] += static_cast<double>(sent.values[i]);
          sizes[index] += std::fabs(static_cast<double>(sent.values[i]));
        }
      }
      if (!policy->keeps_residual() || promise() != Promise::kConserves) continue;
      const std::vector<double> residual = ResidualOf(*policy, *state);
      for (size_t i = 0; i < gradient.size(); ++i) {
        if (!std::isfinite(gradient[i])) continue;
        const double expected = kSteps * static_cast<double>(gradient[i]);
        ASSERT_NEAR(sums[i] + residual[i], expected, 1e-6 * (std::fabs(expected) + sizes[i])) << i;
      }
    }
  }
}

TEST_P(PolicyContract, SendsOddInputsAsTheyAreIfItSendsEverything) {
  const auto policy = Make();
  if (policy->name() != "none") GTEST_SKIP() << "chooses, or rounds to few bits";
  std::vector<float> gradient = {1.0f,
                                 -0.0f,
                                 1e-45f,
                                 -1e-39f,
                                 3e38f,
                                 std::numeric_limits<float>::infinity(),
                                 -std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::quiet_NaN()};
  const Scope scope = MakeScope(std::ssize(gradient));
  const auto state = policy->MakeState(scope);
  const Sent sent = TakeStep(*policy, *state, scope, gradient);
  ASSERT_EQ(sent.values.size(), gradient.size());
  for (size_t i = 0; i + 1 < gradient.size(); ++i) {
    EXPECT_EQ(sent.values[i], wire::Round(gradient[i], scope.values)) << i;
  }
  EXPECT_TRUE(std::isnan(sent.values.back())) << "whoever applies it must see it";
}

// Whatever the elements are worth: a tenth of them, by RuleNamed.
bool ChoosesACount(std::string_view name) {
  return name == "top_k" || name == "random_k" || name == "union_top_k" || name == "clt_k" ||
         name == "deft";
}

TEST_P(PolicyContract, SendsAllThatIsEqualOrNothingOrAsManyAsItWasTold) {
  const auto policy = Make();
  if (promise() == Promise::kIsRightOnAverage) GTEST_SKIP() << "each is left to chance";
  const Scope scope = MakeScope(1000);
  const auto state = policy->MakeState(scope);
  const std::vector<float> equal(1000, 0.5f);
  for (int step = 0; step < 4; ++step) {
    const size_t count = TakeStep(*policy, *state, scope, equal).values.size();
    EXPECT_TRUE(count == 0 || count == equal.size() ||
                (ChoosesACount(policy->name()) && count == 100))
        << count;
  }
}

TEST_P(PolicyContract, SendsEverythingSoonerOrLater) {
  const auto policy = Make();
  const Scope scope = MakeScope(500);
  const auto state = policy->MakeState(scope);
  std::vector<float> gradient = NormalGradient(scope.element_count, 9);
  std::vector<int> sent_times(gradient.size());
  for (int step = 0; step < 500; ++step) {
    for (const int64_t i : TakeStep(*policy, *state, scope, gradient).indexes) {
      ++sent_times[static_cast<size_t>(i)];
    }
  }
  const auto never = std::count(sent_times.begin(), sent_times.end(), 0);
  EXPECT_LE(never, 10) << "a constant gradient crosses any threshold in time";
}

// Threads in different steps of one layer, so for whoever selects by count what it counted is past.
TEST_P(PolicyContract, LosesNothingBetweenThreads) {
  const auto policy = Make();
  if (!policy->keeps_residual() || promise() != Promise::kConserves) {
    GTEST_SKIP() << "does not promise it";
  }
  const Scope scope = MakeScope(2 * kStripeElements + 77);
  const auto state = policy->MakeState(scope);
  constexpr uint64_t kThreads = 4, kSteps = 30;
  std::atomic<size_t> sent_count = 0;
  std::vector<std::vector<double>> balances(
      kThreads, std::vector<double>(static_cast<size_t>(scope.element_count)));
  std::vector<std::jthread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<double>& balance = balances[thread];
      RandomStream random(thread);
      std::vector<float> gradient(balance.size());
      for (uint64_t step = 0; step < kSteps; ++step) {
        // Sums of few multiples of 1/64 are exact, in any order.
        for (float& value : gradient) {
          value = static_cast<float>(random.NextBelow(257)) / 64 - 2;
        }
        for (size_t i = 0; i < balance.size(); ++i) balance[i] += static_cast<double>(gradient[i]);
        const Sent sent = TakeStep(*policy, *state, scope, gradient);
        sent_count += sent.values.size();
        for (size_t i = 0; i < sent.values.size(); ++i) {
          balance[static_cast<size_t>(sent.indexes[i])] -= static_cast<double>(sent.values[i]);
        }
      }
    });
  }
  threads.clear();
  EXPECT_GT(sent_count, kThreads * kSteps * 10) << "or there was nothing to lose";
  const std::vector<double> residual = ResidualOf(*policy, *state);
  const double inexact = policy->name() == "one_bit" ? 1e-4 : 0;  // its means are no such multiples
  for (size_t i = 0; i < residual.size(); ++i) {
    double balance = 0;
    for (const std::vector<double>& one : balances) balance += one[i];
    ASSERT_NEAR(balance, residual[i], inexact) << "coordinate " << i;
  }
}

TEST_P(PolicyContract, IsAFunctionOfItsSeedAndGradients) {
  const auto policy = Make();
  const Scope scope = MakeScope(70'000);
  const auto one = policy->MakeState(scope);
  const auto other = policy->MakeState(scope);
  for (uint64_t step = 0; step < 5; ++step) {
    const std::vector<float> gradient = NormalGradient(scope.element_count, step);
    const Sent a = TakeStep(*policy, *one, scope, gradient);
    const Sent b = TakeStep(*policy, *other, scope, gradient);
    ASSERT_EQ(a.indexes, b.indexes);
    ASSERT_EQ(a.values, b.values);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, PolicyContract,
                         testing::Combine(testing::ValuesIn(PolicyForms()),
                                          testing::Values(wire::ValueCoding::kF32,
                                                          wire::ValueCoding::kBf16)),
                         [](const testing::TestParamInfo<NameAndValues>& test) {
                           std::string form = std::get<0>(test.param);
                           std::ranges::replace(form, ' ', '_');
                           return form + wire::ValueCodingName(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace weir::compress
