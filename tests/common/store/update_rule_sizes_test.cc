// Update rules of any number of values at any address. ApplyDense and ApplyRows are loops for the
// widest vectors at hand (common/base/wide_vectors.h); ApplySparse takes one value after the other,
// compiled for any processor, and is what they are compared with.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/store/update_rule.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/store/store_test_support.h"

namespace weir::store {
namespace {

using ::testing::DoubleNear;
using ::testing::FloatNear;
using ::testing::Pointwise;

constexpr uint64_t kSteps = 3;
constexpr float kAround = 7.0f;

// Numbers at an address that is no vector's, between such that nobody may touch.
class Offset {
 public:
  Offset(const std::vector<float>& values, RandomStream* random)
      : begin_(8 + random->NextBelow(8)),
        count_(values.size()),
        memory_(begin_ + count_ + 16, kAround) {
    std::ranges::copy(values, all().begin());
  }

  std::span<float> all() { return std::span(memory_).subspan(begin_, count_); }
  std::vector<float> Values() const {
    const auto values = std::span(memory_).subspan(begin_, count_);
    return {values.begin(), values.end()};
  }
  bool IsIntactAround() const {
    const std::span<const float> memory = memory_;
    const auto is_intact = [](float value) { return value == kAround; };
    return std::ranges::all_of(memory.first(begin_), is_intact) &&
           std::ranges::all_of(memory.subspan(begin_ + count_), is_intact);
  }

 private:
  size_t begin_, count_;
  std::vector<float> memory_;
};

// Values with their state, as dense elements or as a row.
struct Moved {
  Moved(const UpdateRule& rule, const std::vector<float>& start, int64_t state_size,
        RandomStream* random)
      : values(start, random), state(std::vector<float>(static_cast<size_t>(state_size)), random) {
    rule.InitialState(start.size(), state.all());
  }

  Offset values, state;
};

// Those that have a loop over dense elements, in each form of their formula.
std::vector<std::string> DenseRules() {
  std::vector<std::string> rules = {"momentum { learning_rate: 0.1 nesterov: true }"};
  for (const std::string& name : NamesOfAllRules()) {
    if (name != "rowwise_adagrad") rules.push_back(name + " { learning_rate: 0.1 }");
  }
  const size_t count = rules.size();
  for (size_t i = 0; i < count; ++i) rules.push_back(rules[i] + " weight_decay: 0.01");
  for (size_t i = 0; i < count; ++i) rules.push_back(rules[i] + " l2_penalty: 0.1");
  return rules;
}

// What is left of no vectors, of some and of many.
std::vector<size_t> Sizes() {
  std::vector<size_t> sizes(41);
  std::iota(sizes.begin(), sizes.end(), 0);
  sizes.insert(sizes.end(), {63, 64, 65, 127, 1000});
  return sizes;
}

template <typename Check>
void ForEachSize(const Check& check) {
  for (const size_t size : Sizes()) {
    SCOPED_TRACE(testing::Message() << "size and seed " << size);
    RandomStream random(size);
    check(size, &random);
  }
}

void ExpectOneByOneAndTogetherTheSame(const UpdateRule& rule, size_t size, RandomStream* random) {
  const std::vector<float> start = RandomVector(*random, size);
  const auto count = static_cast<int64_t>(size);
  Moved dense(rule, start, count * rule.StatePerElement(), random), sparse = dense;
  Moved row(rule, start, rule.StatePerRow(count), random);
  std::vector<uint16_t> indexes(size);
  std::iota(indexes.begin(), indexes.end(), uint16_t{0});
  for (uint64_t step = 1; step <= kSteps; ++step) {
    Offset gradient(RandomVector(*random, size), random);
    rule.ApplyDense(dense.values.all(), dense.state.all(), gradient.all(), step);
    rule.ApplySparse(sparse.values.all(), sparse.state.all(), indexes, gradient.all(), step);
    rule.ApplyRow(row.values.all(), row.state.all(), gradient.all(), step);
  }
  EXPECT_EQ(dense.values.Values(), sparse.values.Values());
  EXPECT_EQ(dense.state.Values(), sparse.state.Values());
  if (rule.moves_at_rest()) {  // a row of it promises rounding alone
    EXPECT_THAT(row.values.Values(), Pointwise(FloatNear(2e-6f), sparse.values.Values()));
  } else {
    EXPECT_EQ(row.values.Values(), sparse.values.Values());
  }
  for (const Moved* moved : {&dense, &row}) {
    EXPECT_TRUE(moved->values.IsIntactAround() && moved->state.IsIntactAround());
  }
}

// A gradient in every step, so that nothing is at rest. With dense semantics a rule that moves at
// rest has the loop, too.
TEST(UpdateRuleSizes, WideVectorsGiveTheBitsOfOneValueAfterTheOther) {
  for (const std::string& text : DenseRules()) {
    SCOPED_TRACE(text);
    const auto rule = MakeRule(text + " dense_semantics: true");
    ForEachSize([&](size_t size, RandomStream* random) {
      ExpectOneByOneAndTogetherTheSame(*rule, size, random);
    });
  }
}

// s += mean of g^2; x -= 0.1 g / (sqrt(s) + 1e-3).
void StepInDouble(std::span<const float> gradient, double* sum, std::vector<double>* row) {
  for (const double g : gradient) *sum += g * g / static_cast<double>(gradient.size());
  for (size_t i = 0; i < row->size(); ++i) {
    (*row)[i] -= 0.1 * gradient[i] / (std::sqrt(*sum) + 1e-3);
  }
}

// A row, and what it is by the formula.
struct RowwiseRow {
  RowwiseRow(const UpdateRule& rule, const std::vector<float>& start, RandomStream* random)
      : row(rule, start, rule.StatePerRow(0), random), expected(start.begin(), start.end()) {}

  void ExpectTheFormula() {
    const std::vector<double> sums = {sum};
    EXPECT_THAT(row.values.Values(), Pointwise(DoubleNear(1e-6), expected));
    EXPECT_THAT(row.state.Values(), Pointwise(DoubleNear(1e-5 * sum), sums));
    EXPECT_TRUE(row.values.IsIntactAround() && row.state.IsIntactAround());
  }

  Moved row;
  std::vector<double> expected;
  double sum = 0.1;
};

// Rows that come together, one of them twice.
TEST(UpdateRuleSizes, RowwiseAdagradFollowsItsFormulaInDoubleInRowsOfAnySize) {
  const auto rule = MakeUpdateRule(RuleConfig("rowwise_adagrad", 0.1, 0.1, 1e-3));
  ForEachSize([&](size_t size, RandomStream* random) {
    if (size == 0) return;  // there are no such rows
    const auto make = [&] { return RowwiseRow(*rule, RandomVector(*random, size), random); };
    std::array<RowwiseRow, 3> rows = {make(), make(), make()};
    std::vector<Offset> gradients(4, Offset(std::vector<float>(size), random));
    std::vector<RowUpdate> updates;
    for (size_t k = 0; k < gradients.size(); ++k) {
      RowwiseRow& row = rows[k % rows.size()];
      std::ranges::copy(RandomVector(*random, size), gradients[k].all().begin());
      updates.push_back(
          {row.row.values.all().data(), row.row.state.all().data(), gradients[k].all().data()});
      StepInDouble(gradients[k].all(), &row.sum, &row.expected);
    }
    rule->ApplyRows(updates, size, 1);
    for (RowwiseRow& row : rows) row.ExpectTheFormula();
  });
}

}  // namespace
}  // namespace weir::store
