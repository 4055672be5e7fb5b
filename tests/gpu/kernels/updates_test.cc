// Update rules and rows on a card: each element takes the step that the host's would.
#include <cmath>
#include <vector>

#include "tests/gpu/kernels/update_cases.h"

namespace weir::gpu {
namespace {

using kernels::UpdateStep;
using test::Bench;
using test::OnCard;

void TakeOnHost(const UpdateStep& step, float gradient, float& value, float* m, float* v) {
  gradient = step.penalty.AddTo(gradient, value);
  switch (step.rule) {
    case UpdateStep::Rule::kSgd:
      return step.sgd.Take(gradient, value, m, v);
    case UpdateStep::Rule::kAdagrad:
      return step.adagrad.Take(gradient, value, m, v);
    case UpdateStep::Rule::kMomentum:
      return step.momentum.Take(gradient, value, m, v);
    default:
      return step.adam.Take(gradient, value, m, v);
  }
}

TEST(UpdatesOnACard, DenseElementsTakeTheirSteps) {
  for (const RuleCase& rule : Rules()) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{255}, size_t{1000}}) {
      OnCard([&](const Bench& bench) {
        std::vector<float> values = DrawOperand(count, 1),
                           moments = DrawOperand(count * rule.moments, 2);
        for (float& moment : moments) moment *= moment;
        std::vector<float> gradients = DrawOperand(count, 3);
        for (size_t i = 0; i < count; i += 7) gradients[i] = 0;
        const auto on_card = bench.Put(values), of_moments = bench.Put(moments);
        const auto of_gradients = bench.Put(gradients);
        const auto n = static_cast<int64_t>(count);
        bench.compute.update->update_dense(bench.stream, rule.step, {of_gradients.data(), n},
                                           {on_card.data(), n}, of_moments.data());
        for (size_t i = 0; i < count; ++i) {
          TakeOnHost(rule.step, gradients[i], values[i], moments.data() + i,
                     moments.data() + count + i);
        }
        ExpectClose(bench.Get<float>(on_card.span()), values);
        ExpectClose(bench.Get<float>(of_moments.span()), moments);
      });
    }
  }
}

// Row-wise Adagrad of one row.
void TakeRowStep(const kernels::RowwiseAdagradStep& step, float penalty, const float* gradient,
                 float* row, float* state) {
  std::vector<float> whole(gradient, gradient + kDimension);
  float sum = 0;
  for (size_t k = 0; k < kDimension; ++k) {
    whole[k] += penalty * row[k];
    sum += whole[k] * whole[k];
  }
  *state += sum / kDimension;
  const float divisor = kernels::AdagradDivisor(*state, step.epsilon);
  for (size_t k = 0; k < kDimension; ++k) row[k] -= step.rate * whole[k] / divisor;
}

// SGD of one row that has a gradient of zero.
TEST(UpdatesOnACard, ThePenaltyOfARowIsOfAllItsElements) {
  OnCard([&](const Bench& bench) {
    const auto values = bench.Put<float>({1, 2, 4, 8}), gradients = bench.Put<float>({0, 1});
    const auto numbers = bench.Put<uint32_t>({1});
    const auto is_trained = bench.Put(std::vector<uint8_t>(2));
    bench.compute.update->update_rows(bench.stream, Penalised(kernels::SgdStep{1, 0}, {0.5f, 0}),
                                      {values.data(), nullptr, is_trained.data(), 2, 0},
                                      {numbers.data(), 1}, gradients.data());
    EXPECT_EQ(bench.Get<float>(values.span()), (std::vector<float>{1, 2, 2, 3}));
  });
}

void CheckRowwiseRows(float penalty) {
  const std::vector<uint32_t> numbers = {3, 19, 0, 7};
  const kernels::RowwiseAdagradStep step{0.1f, 1e-6f};
  OnCard([&](const Bench& bench) {
    std::vector<float> values = DrawOperand(kRows * kDimension, 1), state(kRows, 0.5f);
    const std::vector<float> gradients = DrawOperand(numbers.size() * kDimension, 3);
    const auto on_card = bench.Put(values), of_state = bench.Put(state);
    const auto of_gradients = bench.Put(gradients);
    const auto of_numbers = bench.Put(numbers);
    const auto is_trained = bench.Put(std::vector<uint8_t>(kRows));
    bench.compute.update->update_rows(
        bench.stream, Penalised(step, {penalty, penalty}),
        {on_card.data(), of_state.data(), is_trained.data(), kDimension, 1}, {of_numbers.data(), 4},
        of_gradients.data());
    for (size_t i = 0; i < numbers.size(); ++i) {
      TakeRowStep(step, penalty, gradients.data() + i * kDimension,
                  values.data() + numbers[i] * kDimension, &state[numbers[i]]);
    }
    ExpectClose(bench.Get<float>(on_card.span()), values);
    ExpectClose(bench.Get<float>(of_state.span()), state);
    EXPECT_EQ(bench.Get<uint8_t>(is_trained.span())[19], 1);
    EXPECT_EQ(bench.Get<uint8_t>(is_trained.span())[18], 0);
  });
}

TEST(UpdatesOnACard, RowsTakeTheirStepsAndOthersStay) {
  CheckRowwiseRows(0);
  CheckRowwiseRows(0.25f);
}

// Rows of three, of ten; 7 for one that is nowhere.
constexpr size_t kNowhere = SIZE_MAX;
std::vector<float> RowsOf(const std::vector<float>& all, const std::vector<size_t>& numbers) {
  std::vector<float> rows;
  for (const size_t number : numbers) {
    for (size_t k = 0; k < 3; ++k) rows.push_back(number == kNowhere ? 7.0f : all[3 * number + k]);
  }
  return rows;
}

TEST(UpdatesOnACard, RowsAreReadCopiedAndWrittenByTheirNumbers) {
  OnCard([&](const Bench& bench) {
    const std::vector<float> all = DrawOperand(30, 1);
    const auto from = bench.Put(all);
    const auto numbers = bench.Put<uint32_t>({9, 0, 4}),
               to_numbers = bench.Put<uint32_t>({1, 2, 0});
    const auto some = bench.Put<uint32_t>({2, UINT32_MAX, 0});
    const auto read = bench.Put(std::vector<float>(9, std::nanf("")));
    const auto copied = bench.Put(std::vector<float>(9, std::nanf("")));
    const auto written = bench.Put(std::vector<float>(9, 7.0f));
    const kernels::UpdateTable& table = *bench.compute.update;
    table.read_rows(bench.stream, {from.data(), nullptr, nullptr, 3, 0}, {numbers.data(), 3},
                    read.data());
    table.copy_rows(bench.stream, from.data(), {numbers.data(), 3}, 3, {to_numbers.data(), 3},
                    copied.data());
    table.write_rows(bench.stream, from.data(), {some.data(), 3}, 3, written.data());
    EXPECT_EQ(bench.Get<float>(read.span()), RowsOf(all, {9, 0, 4}));
    EXPECT_EQ(bench.Get<float>(copied.span()), RowsOf(all, {4, 9, 0}));
    EXPECT_EQ(bench.Get<float>(written.span()), RowsOf(all, {2, kNowhere, 0}));
  });
}

}  // namespace
}  // namespace weir::gpu
