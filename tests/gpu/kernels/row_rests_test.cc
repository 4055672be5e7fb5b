// What rows of a card did at rest: the same as on the host.
#include <array>
#include <vector>

#include "common/kernels/rest.h"
#include "tests/gpu/kernels/update_cases.h"

namespace weir::gpu {
namespace {

const std::vector<kernels::Rest>& Rests() {
  static const std::vector<kernels::Rest> rests = {
      {}, {0.25f, 0.5f, 1.5f, 0.75f, 0.875f}, {0, 2, 1, 0, 1}, {0.5f, 0, 1, 1, 1}};
  return rests;
}

constexpr std::array<uint32_t, 4> kNumbers = {3, 19, 0, 7};

// Rows of two moments at most, as their rule has.
struct RestedRows {
  explicit RestedRows(const RuleCase& rule)
      : width(rule.moments * kDimension),
        values(DrawOperand(kRows * kDimension, 1)),
        state(DrawOperand(kRows * width, 2)) {
    for (float& moment : state) moment *= moment;
  }
  void Catch(const UpdateStep& step, const kernels::Rest& rest, size_t row) {
    for (size_t k = 0; k < kDimension; ++k) {
      float* const first = state.data() + row * width + k;
      rest.Catch(step, values[row * kDimension + k], first, first + kDimension);
    }
  }

  // Rows kNumbers by kRests; what they are then.
  std::vector<float> CatchAll(const UpdateStep& step) {
    std::vector<float> caught;
    for (size_t i = 0; i < kNumbers.size(); ++i) {
      Catch(step, Rests()[i], kNumbers[i]);
      const auto row = values.begin() + static_cast<ptrdiff_t>(kNumbers[i] * kDimension);
      caught.insert(caught.end(), row, row + kDimension);
    }
    return caught;
  }

  size_t width;
  std::vector<float> values, state;
};

TEST(RestsOnACard, RowsAreReadAndChangedByThem) {
  for (const RuleCase& rule : Rules()) {
    OnCard([&](const Bench& bench) {
      RestedRows rows(rule);
      const auto values = bench.Put(rows.values), state = bench.Put(rows.state);
      const auto of_numbers = bench.Put(std::vector<uint32_t>(kNumbers.begin(), kNumbers.end()));
      const auto rests = bench.Put(Rests());
      const auto read = bench.Put(std::vector<float>(kNumbers.size() * kDimension, 77.0f));
      const kernels::StoredRows stored{values.data(), state.data(), nullptr, kDimension,
                                       static_cast<int64_t>(rows.width)};
      bench.compute.update->read_rested_rows(bench.stream, rule.step, stored,
                                             {of_numbers.data(), 4}, rests.data(), read.data());
      EXPECT_EQ(bench.Get<float>(values.span()), rows.values) << "reading changes nothing";
      EXPECT_EQ(bench.Get<float>(state.span()), rows.state);
      bench.compute.update->rest_rows(bench.stream, rule.step, stored, {of_numbers.data(), 4},
                                      rests.data());
      const std::vector<float> expected = rows.CatchAll(rule.step);
      ExpectClose(bench.Get<float>(read.span()), expected);
      ExpectClose(bench.Get<float>(values.span()), rows.values);
      ExpectClose(bench.Get<float>(state.span()), rows.state);
    });
  }
}

}  // namespace
}  // namespace weir::gpu
