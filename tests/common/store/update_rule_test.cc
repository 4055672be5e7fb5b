#include "common/store/update_rule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/store/store_test_support.h"

namespace weir::store {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// Those that without weight decay do nothing at rest.
constexpr std::array<std::string_view, 3> kRuleNames = {"sgd", "adagrad", "rowwise_adagrad"};

// Of a row, and of as many dense elements of a rule that does not move at rest.
std::vector<float> InitialState(const UpdateRule& rule, size_t dimension) {
  std::vector<float> state(static_cast<size_t>(rule.StatePerRow(static_cast<int64_t>(dimension))));
  rule.InitialState(dimension, state);
  return state;
}

TEST(UpdateRule, EveryRuleOfTheConfigHasAnEntryOfItsName) {
  const auto* oneof = v1::UpdateRule::descriptor()->FindOneofByName("rule");
  ASSERT_NE(oneof, nullptr);
  for (int i = 0; i < oneof->field_count(); ++i) {
    const std::string& name = oneof->field(i)->name();
    EXPECT_EQ(MakeRule(name + " { learning_rate: 0.1 }")->name(), name);
  }
}

// The same gradients give the same bits, however many steps another rule has taken before.
TEST(UpdateRule, ThatBeginsLaterDoesWhatItDoesFromTheFirstStep) {
  constexpr uint64_t kBefore = 77777;
  constexpr size_t kSize = 8;
  for (const char* const text :
       {"sgd { learning_rate: 0.1 } schedule { warmup_steps: 20 }",
        "sgd { learning_rate: 0.1 } weight_decay: 0.01", "adagrad { learning_rate: 0.1 }",
        "rowwise_adagrad { learning_rate: 0.1 } weight_decay: 0.01",
        "momentum { learning_rate: 0.1 }", "adam { learning_rate: 0.1 }",
        "adam { learning_rate: 0.1 } weight_decay: 0.01 schedule { warmup_steps: 20 }"}) {
    const auto rule = MakeRule(text), later = MakeRule(text);
    later->BeginAfter(kBefore);
    RandomStream random(8);
    const std::vector<float> first = RandomVector(random, kSize);
    struct Run {
      std::vector<float> values, state, read;
    };
    Run run{first, InitialState(*rule, kSize), {}}, late{first, InitialState(*later, kSize), {}};
    later->StartAt(kSize, kBefore, late.state);
    EXPECT_EQ(late.state, run.state) << text;
    for (const uint64_t step : {1u, 2u, 7u, 30u, 31u, 200u}) {
      const std::vector<float> gradient = RandomVector(random, kSize);
      rule->ApplyRow(run.values, run.state, gradient, step);
      later->ApplyRow(late.values, late.state, gradient, kBefore + step);
      EXPECT_EQ(late.values, run.values) << text << ", step " << step;
      run.read = run.values;
      late.read = late.values;
      rule->CatchUp(run.read, run.state, step + 5);
      later->CatchUp(late.read, late.state, kBefore + step + 5);
      EXPECT_EQ(late.read, run.read) << text << ", step " << step;
    }
    rule->SettleRow(run.values, run.state, 300);
    later->SettleRow(late.values, late.state, kBefore + 300);
    EXPECT_EQ(late.values, run.values) << text;
    EXPECT_EQ(late.state, run.state) << text;
    if (!rule->serves_dense()) continue;
    const auto per_element = static_cast<size_t>(rule->StatePerElement());
    run = {first, std::vector<float>(kSize * per_element), {}};
    rule->InitialState(kSize, run.state);
    late = run;
    for (const uint64_t step : {1u, 4u}) {
      const std::vector<float> gradient = RandomVector(random, kSize);
      rule->ApplyDense(run.values, run.state, gradient, step);
      later->ApplyDense(late.values, late.state, gradient, kBefore + step);
      rule->ApplySparse(run.values, run.state, std::array<uint16_t, 1>{3},
                        std::span(gradient).first(1), step + 1);
      later->ApplySparse(late.values, late.state, std::array<uint16_t, 1>{3},
                         std::span(gradient).first(1), kBefore + step + 1);
    }
    rule->SettleDense(run.values, run.state, 9);
    later->SettleDense(late.values, late.state, kBefore + 9);
    EXPECT_EQ(late.values, run.values) << text;
    EXPECT_EQ(late.state, run.state) << text;
  }
}

TEST(UpdateRule, KeepsTheStateThatItsFormulaNeeds) {
  const auto sgd = MakeRule("sgd", 1), adagrad = MakeRule("adagrad", 1);
  const auto rowwise = MakeRule("rowwise_adagrad", 1);
  EXPECT_EQ(sgd->StatePerElement(), 0);
  EXPECT_EQ(sgd->StatePerRow(16), 0);
  EXPECT_EQ(adagrad->StatePerElement(), 1);
  EXPECT_EQ(adagrad->StatePerRow(16), 16);
  EXPECT_EQ(rowwise->StatePerRow(16), 1);
  EXPECT_FALSE(sgd->moves_at_rest() || adagrad->moves_at_rest() || rowwise->moves_at_rest());
  EXPECT_TRUE(sgd->serves_dense() && adagrad->serves_dense());
  EXPECT_FALSE(rowwise->serves_dense());
}

TEST(UpdateRule, WhatMovesAtRestRemembersItsLastStepAsWell) {
  const auto momentum = MakeRule("momentum { learning_rate: 1 }");
  EXPECT_EQ(momentum->StatePerElement(), 2);
  EXPECT_EQ(momentum->StatePerRow(16), 17);
  const auto adam = MakeRule("adam { learning_rate: 1 }");
  EXPECT_EQ(adam->StatePerElement(), 3);
  EXPECT_EQ(adam->StatePerRow(16), 33);
  const auto decayed = MakeRule("rowwise_adagrad { learning_rate: 1 } weight_decay: 0.1");
  EXPECT_EQ(decayed->StatePerRow(16), 2);
  EXPECT_TRUE(momentum->moves_at_rest() && adam->moves_at_rest() && decayed->moves_at_rest());
  EXPECT_FALSE(MakeRule("momentum { learning_rate: 1 momentum: 0 }")->moves_at_rest());
}

TEST(UpdateRule, WhatEveryStepMovesNeedsNoLastStep) {
  const auto adam = MakeRule("adam { learning_rate: 1 } dense_semantics: true");
  EXPECT_TRUE(adam->dense_semantics());
  EXPECT_EQ(adam->StatePerElement(), 2);
  const auto sgd = MakeRule("sgd { learning_rate: 1 } dense_semantics: true");
  EXPECT_FALSE(sgd->dense_semantics()) << "it does nothing at rest";
}

TEST(UpdateRule, StartsFromTheInitialAccumulator) {
  for (const char* name : {"adagrad", "rowwise_adagrad"}) {
    const auto rule = MakeUpdateRule(RuleConfig(name, 0.1, 0.25));
    const std::vector<float> state = InitialState(*rule, 5);
    EXPECT_FALSE(state.empty());
    EXPECT_THAT(state, Each(0.25f)) << name;
  }
}

TEST(Sgd, SubtractsTheScaledSumOfGradients) {
  RandomStream random(1);
  const auto rule = MakeRule("sgd", 0.05);
  std::vector<float> values = RandomVector(random, 37);
  std::vector<double> expected(values.begin(), values.end());
  for (uint64_t step = 1; step <= 100; ++step) {
    const std::vector<float> gradients = RandomVector(random, 37);
    rule->ApplyDense(values, {}, gradients, step);
    for (size_t i = 0; i < 37; ++i) expected[i] -= 0.05 * gradients[i];
  }
  for (size_t i = 0; i < 37; ++i) EXPECT_NEAR(values[i], expected[i], 1e-5);
}

TEST(Adagrad, FollowsItsFormulaInDouble) {
  RandomStream random(2);
  const auto rule = MakeUpdateRule(RuleConfig("adagrad", 0.05, 0.1, 1e-3));
  std::vector<float> values = RandomVector(random, 37);
  std::vector<float> state = InitialState(*rule, 37);
  std::vector<double> expected(values.begin(), values.end()), sums(37, 0.1);
  for (uint64_t step = 1; step <= 100; ++step) {
    const std::vector<float> gradients = RandomVector(random, 37);
    rule->ApplyDense(values, state, gradients, step);
    for (size_t i = 0; i < 37; ++i) {
      const double gradient = gradients[i];
      sums[i] += gradient * gradient;
      expected[i] -= 0.05 * gradient / (std::sqrt(sums[i]) + 1e-3);
    }
  }
  for (size_t i = 0; i < 37; ++i) {
    EXPECT_NEAR(values[i], expected[i], 1e-5);
    EXPECT_NEAR(state[i], sums[i], 1e-5 * sums[i]);
  }
}

TEST(RowwiseAdagrad, FollowsItsFormulaInDouble) {
  constexpr size_t kDimension = 16;
  RandomStream random(3);
  const auto rule = MakeUpdateRule(RuleConfig("rowwise_adagrad", 0.05, 0.1, 1e-3));
  std::vector<float> row = RandomVector(random, kDimension);
  std::vector<float> state = InitialState(*rule, kDimension);
  std::vector<double> expected(row.begin(), row.end());
  double sum = 0.1;
  for (uint64_t step = 1; step <= 100; ++step) {
    const std::vector<float> gradient = RandomVector(random, kDimension);
    rule->ApplyRow(row, state, gradient, step);
    for (const double g : gradient) sum += g * g / kDimension;
    for (size_t i = 0; i < kDimension; ++i) {
      expected[i] -= 0.05 * gradient[i] / (std::sqrt(sum) + 1e-3);
    }
  }
  for (size_t i = 0; i < kDimension; ++i) EXPECT_NEAR(row[i], expected[i], 1e-5);
  EXPECT_NEAR(state[0], sum, 1e-5 * sum);
}

TEST(RowwiseAdagrad, FirstStepDividesByTheRootMeanSquare) {
  const auto rule = MakeUpdateRule(RuleConfig("rowwise_adagrad", 1, 0, 0));
  std::vector<float> row = {0, 0}, state = {0};
  rule->ApplyRow(row, state, std::vector<float>{1, 7}, 1);  // root mean square 5
  EXPECT_THAT(state, ElementsAre(25.0f));
  EXPECT_THAT(row, ElementsAre(-0.2f, -1.4f));
}

// Where a value of 0 goes by the first gradient of all: in a row, and, if the rule serves them,
// among dense elements.
std::vector<float> FirstMoves(const std::string& text, uint64_t step) {
  const auto rule = MakeRule(text);
  const std::vector<float> gradient = {2};
  std::vector<float> row(1), state = InitialState(*rule, 1);
  rule->ApplyRow(row, state, gradient, step);
  if (!rule->serves_dense()) return row;
  std::vector<float> dense(1), dense_state(static_cast<size_t>(rule->StatePerElement()));
  rule->InitialState(1, dense_state);
  rule->ApplyDense(dense, dense_state, gradient, step);
  return {row[0], dense[0]};
}

TEST(UpdateRule, HasTheRateOfItsScheduleInEachStep) {
  for (const std::string& name : NamesOfAllRules()) {
    const auto moves = [&](const std::string& schedule, uint64_t step) {
      return FirstMoves(name + " { learning_rate: 0.1 } schedule { " + schedule + " }", step);
    };
    const std::vector<float> usual = moves("warmup_steps: 0", 1);
    const std::vector<float> rising = moves("warmup_steps: 10", 1);
    const std::vector<float> later = moves("warmup_steps: 0", 8);
    const std::vector<float> fallen = moves("warmup_steps: 0 step { every: 5 factor: 0.5 }", 8);
    for (size_t i = 0; i < usual.size(); ++i) {
      EXPECT_LT(usual[i], -0.01f) << name;
      EXPECT_NEAR(rising[i] / usual[i], 0.1, 1e-6) << name;
      EXPECT_NEAR(fallen[i] / later[i], 0.5, 1e-6) << name;
    }
  }
}

// What goes on without a gradient does so at the rate of each step, not at that of the gradient's.
TEST(UpdateRule, HasTheRateOfItsScheduleInStepsAtRestToo) {
  for (const std::string rule_text :
       {"momentum { learning_rate: 0.1 }", "momentum { learning_rate: 0.1 nesterov: true }",
        "adam { learning_rate: 0.1 }"}) {
    const auto rest = [&](const std::string& schedule) {
      const auto rule = MakeRule(rule_text + " schedule { " + schedule + " }");
      std::vector<float> row(1), state = InitialState(*rule, 1);
      rule->ApplyRow(row, state, std::vector<float>{2}, 1);
      std::vector<float> read = row;
      rule->CatchUp(read, state, 2);
      return read[0] - row[0];
    };
    const float usual = rest("warmup_steps: 0"), rising = rest("warmup_steps: 10");
    EXPECT_LT(usual, -0.01f) << rule_text;
    EXPECT_NEAR(rising / usual, 0.2, 1e-4) << rule_text;
  }
}

constexpr std::array<const char*, 4> kMovingRules = {
    "momentum { learning_rate: 0.1 }", "adam { learning_rate: 0.1 } weight_decay: 0.01",
    "rowwise_adagrad { learning_rate: 0.1 } weight_decay: 0.01",
    "sgd { learning_rate: 0.1 } weight_decay: 0.01"};

TEST(UpdateRule, ASettledRowIsWhatIsReadAndGoesOnLikeOneThatIsNot) {
  for (const char* text : kMovingRules) {
    const auto rule = MakeRule(text);
    RandomStream random(5);
    std::vector<float> row = RandomVector(random, 16), state = InitialState(*rule, 16);
    for (const uint64_t step : {1, 2, 5}) {
      rule->ApplyRow(row, state, RandomVector(random, 16), step);
    }
    std::vector<float> read = row, settled = row, settled_state = state;
    rule->CatchUp(read, state, 9);
    EXPECT_NE(read, row) << text;
    rule->SettleRow(settled, settled_state, 9);
    EXPECT_EQ(settled, read) << text;
    rule->SettleRow(settled, settled_state, 9);
    EXPECT_EQ(settled, read) << text << ": a second time";
    const std::vector<float> gradient = RandomVector(random, 16);
    rule->ApplyRow(row, state, gradient, 12);
    rule->ApplyRow(settled, settled_state, gradient, 12);
    for (size_t i = 0; i < 16; ++i) EXPECT_NEAR(settled[i], row[i], 1e-5) << text;
  }
}

TEST(UpdateRule, WhatStartsAtAStepHasNoRestBeforeIt) {
  for (const char* text : kMovingRules) {
    const auto rule = MakeRule(text);
    const std::vector<float> start(16, 1);
    std::vector<float> row = start, state = InitialState(*rule, 16);
    rule->StartAt(16, 100, state);
    rule->CatchUp(row, state, 100);
    EXPECT_EQ(row, start) << text;
    if (!std::string_view(text).ends_with("weight_decay: 0.01")) continue;
    rule->CatchUp(row, state, 101);
    for (const float value : row) EXPECT_NEAR(value, 1 - 0.1 * 0.01, 1e-6) << text;
  }
}

constexpr double kDecayingRate = 0.1, kDecay = 0.2;

// A rule with weight decay, and what it takes off a value for a gradient, in double precision.
struct DecayingRule {
  const char* text;
  double first_memory;
  double (*move)(double gradient, double* memory);
};
constexpr std::array<DecayingRule, 2> kDecayingRules = {{
    {"adagrad { learning_rate: 0.1 initial_accumulator: 0.1 epsilon: 1e-3 } weight_decay: 0.2 "
     "schedule { warmup_steps: 0 }",
     0.1,
     [](double gradient, double* sum) {
       *sum += gradient * gradient;
       return kDecayingRate * gradient / (std::sqrt(*sum) + 1e-3);
     }},
    {"momentum { learning_rate: 0.1 momentum: 0.9 } weight_decay: 0.2", 0,
     [](double gradient, double* velocity) {
       *velocity = 0.9 * *velocity + gradient;
       return kDecayingRate * *velocity;
     }},
}};

// Each step's gradients of so many elements. Two of three are zero, and all of them in steps 8 to
// 12 and in the last three.
std::vector<std::vector<float>> GradientsWithRests(size_t size) {
  RandomStream random(6);
  std::vector<std::vector<float>> steps;
  for (uint64_t step = 1; step <= 20; ++step) {
    std::vector<float>& gradients = steps.emplace_back(size);
    if ((step >= 8 && step <= 12) || step > 17) continue;
    for (float& gradient : gradients) {
      if (random.NextBelow(3) == 0) gradient = static_cast<float>(random.NextNormal());
    }
  }
  return steps;
}

std::vector<double> DecayedInDouble(const DecayingRule& rule, std::span<const float> start,
                                    const std::vector<std::vector<float>>& steps) {
  std::vector<double> values(start.begin(), start.end());
  std::vector<double> memory(start.size(), rule.first_memory);
  for (const std::vector<float>& gradients : steps) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] -= kDecayingRate * kDecay * values[i] + rule.move(gradients[i], &memory[i]);
    }
  }
  return values;
}

void ExpectAllNear(std::span<const float> values, std::span<const double> expected,
                   const std::string& what) {
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-5) << what;
}

TEST(UpdateRule, WeightDecayOfARowFollowsItsFormulaInDoubleThroughRests) {
  const auto steps = GradientsWithRests(16);
  for (const DecayingRule& decaying : kDecayingRules) {
    const auto rule = MakeRule(decaying.text);
    RandomStream random(7);
    const std::vector<float> start = RandomVector(random, 16);
    std::vector<float> row = start, state = InitialState(*rule, 16);
    for (size_t i = 0; i < steps.size(); ++i) {
      const bool is_rest = std::ranges::all_of(steps[i], [](float g) { return g == 0; });
      if (!is_rest) rule->ApplyRow(row, state, steps[i], i + 1);
    }
    rule->SettleRow(row, state, steps.size());
    ExpectAllNear(row, DecayedInDouble(decaying, start, steps), decaying.text);
  }
}

TEST(UpdateRule, WeightDecayOfDenseElementsFollowsItsFormulaInDoubleThroughRests) {
  constexpr size_t kSize = 16;
  const auto steps = GradientsWithRests(kSize);
  for (const DecayingRule& decaying : kDecayingRules) {
    const auto rule = MakeRule(decaying.text);
    RandomStream random(7);
    const std::vector<float> start = RandomVector(random, kSize);
    std::vector<float> dense = start, sparse = start;
    std::vector<float> dense_state(kSize * static_cast<size_t>(rule->StatePerElement()));
    rule->InitialState(kSize, dense_state);
    std::vector<float> sparse_state = dense_state;
    for (size_t i = 0; i < steps.size(); ++i) {
      std::vector<uint16_t> indexes;
      std::vector<float> kept;
      for (uint16_t k = 0; k < kSize; ++k) {
        if (steps[i][k] == 0) continue;
        indexes.push_back(k);
        kept.push_back(steps[i][k]);
      }
      rule->ApplyDense(dense, dense_state, steps[i], i + 1);
      rule->ApplySparse(sparse, sparse_state, indexes, kept, i + 1);
    }
    rule->SettleDense(dense, dense_state, steps.size());
    rule->SettleDense(sparse, sparse_state, steps.size());
    const std::vector<double> expected = DecayedInDouble(decaying, start, steps);
    ExpectAllNear(dense, expected, decaying.text);
    ExpectAllNear(sparse, expected, decaying.text);
  }
}

constexpr double kPenalty = 0.2;

// A rule with coupled weight decay: its step in double precision, of a gradient that has it
// already. memory: two moments of an element.
struct PenalisedRule {
  const char* text;
  std::array<double, 2> first_memory;
  double (*move)(double gradient, uint64_t step, std::array<double, 2>* memory);
};
constexpr std::array<PenalisedRule, 4> kPenalisedRules = {{
    {"sgd { learning_rate: 0.1 } l2_penalty: 0.2",
     {},
     [](double gradient, uint64_t, std::array<double, 2>*) { return 0.1 * gradient; }},
    {"adagrad { learning_rate: 0.1 initial_accumulator: 0.1 epsilon: 1e-3 } l2_penalty: 0.2 "
     "schedule { warmup_steps: 0 }",
     {0.1},
     [](double gradient, uint64_t, std::array<double, 2>* memory) {
       (*memory)[0] += gradient * gradient;
       return 0.1 * gradient / (std::sqrt((*memory)[0]) + 1e-3);
     }},
    {"momentum { learning_rate: 0.1 momentum: 0.9 } l2_penalty: 0.2",
     {},
     [](double gradient, uint64_t, std::array<double, 2>* memory) {
       (*memory)[0] = 0.9 * (*memory)[0] + gradient;
       return 0.1 * (*memory)[0];
     }},
    {"adam { learning_rate: 0.1 beta1: 0.9 beta2: 0.999 epsilon: 1e-8 } l2_penalty: 0.2",
     {},
     [](double gradient, uint64_t step, std::array<double, 2>* memory) {
       auto& [m, v] = *memory;
       m = 0.9 * m + 0.1 * gradient;
       v = 0.999 * v + 0.001 * gradient * gradient;
       const auto t = static_cast<double>(step);
       return 0.1 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
     }},
}};

// As PyTorch's optimizers of these names do with `weight_decay`: of every step, all elements.
std::vector<double> PenalisedInDouble(const PenalisedRule& rule, std::span<const float> start,
                                      const std::vector<std::vector<float>>& steps) {
  std::vector<double> values(start.begin(), start.end());
  std::vector<std::array<double, 2>> memory(start.size(), rule.first_memory);
  for (size_t t = 0; t < steps.size(); ++t) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] -= rule.move(steps[t][i] + kPenalty * values[i], t + 1, &memory[i]);
    }
  }
  return values;
}

std::vector<std::vector<float>> GradientsWithoutRests(size_t size) {
  RandomStream random(9);
  std::vector<std::vector<float>> steps;
  for (int step = 0; step < 30; ++step) steps.push_back(RandomVector(random, size));
  return steps;
}

TEST(UpdateRule, L2PenaltyIsThatOfPyTorchWhereEveryStepHasAGradient) {
  const auto steps = GradientsWithoutRests(16);
  for (const PenalisedRule& penalised : kPenalisedRules) {
    const auto rule = MakeRule(penalised.text);
    RandomStream random(7);
    const std::vector<float> start = RandomVector(random, 16);
    std::vector<float> row = start, state = InitialState(*rule, 16), dense = start;
    std::vector<float> dense_state(16 * static_cast<size_t>(rule->StatePerElement()));
    rule->InitialState(16, dense_state);
    for (size_t i = 0; i < steps.size(); ++i) {
      rule->ApplyRow(row, state, steps[i], i + 1);
      rule->ApplyDense(dense, dense_state, steps[i], i + 1);
    }
    const std::vector<double> expected = PenalisedInDouble(penalised, start, steps);
    ExpectAllNear(row, expected, penalised.text);
    ExpectAllNear(dense, expected, penalised.text);
  }
}

TEST(UpdateRule, WithDenseSemanticsL2PenaltyIsOfEveryElementInEveryStep) {
  const auto steps = GradientsWithRests(16);
  for (const PenalisedRule& penalised : kPenalisedRules) {
    const auto rule = MakeRule(std::string(penalised.text) + " dense_semantics: true");
    EXPECT_TRUE(rule->dense_semantics());
    RandomStream random(7);
    const std::vector<float> start = RandomVector(random, 16);
    std::vector<float> dense = start;
    std::vector<float> state(16 * static_cast<size_t>(rule->StatePerElement()));
    rule->InitialState(16, state);
    for (size_t i = 0; i < steps.size(); ++i) rule->ApplyDense(dense, state, steps[i], i + 1);
    ExpectAllNear(dense, PenalisedInDouble(penalised, start, steps), penalised.text);
  }
}

// A step that gives an element no gradient does to it what it would do without a penalty, whether
// its gradient was left out or is a zero.
TEST(UpdateRule, L2PenaltyIsOfElementsThatGetAGradient) {
  for (const PenalisedRule& penalised : kPenalisedRules) {
    const auto rule = MakeRule(penalised.text);
    std::vector<float> dense = {1, -2, 3, 4}, sparse = dense;
    std::vector<float> dense_state(4 * static_cast<size_t>(rule->StatePerElement()));
    rule->InitialState(4, dense_state);
    std::vector<float> sparse_state = dense_state;
    rule->ApplyDense(dense, dense_state, std::vector<float>{0, 1, 0, 0.5f}, 1);
    rule->ApplySparse(sparse, sparse_state, std::vector<uint16_t>{1, 3},
                      std::vector<float>{1, 0.5f}, 1);
    EXPECT_EQ(dense, sparse) << penalised.text;
    EXPECT_EQ(dense_state, sparse_state) << penalised.text;
    EXPECT_EQ(dense[0], 1) << penalised.text;
    EXPECT_EQ(dense[2], 3) << penalised.text;
    EXPECT_NE(dense[1], -2) << penalised.text;
  }
}

TEST(UpdateRule, L2PenaltyOfARowIsOfAllItsElements) {
  for (const PenalisedRule& penalised : kPenalisedRules) {
    const auto rule = MakeRule(penalised.text);
    std::vector<float> row = {1, -2}, state = InitialState(*rule, 2);
    rule->ApplyRow(row, state, std::vector<float>{0, 1}, 1);
    EXPECT_LT(row[0], 1) << penalised.text;
  }
}

TEST(RowwiseAdagrad, CountsItsPenaltyAsGradient) {
  const auto rule = MakeRule(
      "rowwise_adagrad { learning_rate: 1 initial_accumulator: 0 "
      "epsilon: 1e-9 } l2_penalty: 0.5");
  std::vector<float> row = {2, 4}, state = {0};
  rule->ApplyRow(row, state, std::vector<float>{0, 5}, 1);  // 1 and 7: root mean square 5
  EXPECT_THAT(state, ElementsAre(25.0f));
  EXPECT_NEAR(row[0], 2 - 0.2, 1e-6);
  EXPECT_NEAR(row[1], 4 - 1.4, 1e-6);
}

TEST(UpdateRule, ZeroGradientLeavesValueAndState) {
  for (const std::string_view name : kRuleNames) {
    for (const double epsilon : {0.0, 1e-10}) {
      const auto rule = MakeUpdateRule(RuleConfig(name, 0.1, 0, epsilon));
      const std::vector<float> before = {1, -2, 0, 1e-30f}, zero(4);
      std::vector<float> row = before, state = InitialState(*rule, 4);
      rule->ApplyRow(row, state, zero, 1);
      EXPECT_EQ(row, before) << name;
      EXPECT_THAT(state, Each(0.0f)) << name;
      if (!rule->serves_dense()) continue;
      rule->ApplyDense(row, state, zero, 1);
      rule->ApplySparse(row, state, std::vector<uint16_t>{0, 3}, std::vector<float>{0, 0}, 1);
      EXPECT_EQ(row, before) << name;
      EXPECT_THAT(state, Each(0.0f)) << name;
    }
  }
}

TEST(UpdateRule, StaysFiniteWhenTheSquareUnderflowsAndThereIsNoEpsilon) {
  for (const std::string_view name : kRuleNames) {
    const auto rule = MakeUpdateRule(RuleConfig(name, 0.1, 0, 0));
    std::vector<float> row = {1, 2}, state = InitialState(*rule, 2);
    rule->ApplyRow(row, state, std::vector<float>{1e-30f, -1e-30f}, 1);
    EXPECT_EQ(row, (std::vector<float>{1, 2})) << name;
  }
}

TEST(UpdateRule, SparseDenseAndRowFormsGiveTheSameBits) {
  for (const char* name : {"sgd", "adagrad"}) {
    RandomStream random(4);
    const auto rule = MakeRule(name, 0.03);
    const std::vector<float> initial = RandomVector(random, 1000);
    std::vector<float> sparse = initial, dense = initial, row = initial;
    std::vector<float> sparse_state = InitialState(*rule, 1000);
    std::vector<float> dense_state = sparse_state, row_state = sparse_state;
    for (uint64_t step = 1; step <= 20; ++step) {
      std::vector<float> gradients(1000), kept;
      std::vector<uint16_t> indexes;
      for (uint16_t i = 0; i < 1000; ++i) {
        if (random.NextBelow(10) != 0) continue;
        gradients[i] = static_cast<float>(random.NextNormal());
        kept.push_back(gradients[i]);
        indexes.push_back(i);
      }
      rule->ApplySparse(sparse, sparse_state, indexes, kept, step);
      rule->ApplyDense(dense, dense_state, gradients, step);
      rule->ApplyRow(row, row_state, gradients, step);
    }
    EXPECT_EQ(sparse, dense) << name;
    EXPECT_EQ(sparse_state, dense_state) << name;
    EXPECT_EQ(row, dense) << name;
    EXPECT_NE(dense, initial) << name;
  }
}

}  // namespace
}  // namespace weir::store
