// Rows that a card keeps: how they begin, and that no rows are no work.
#include <algorithm>
#include <span>
#include <vector>

#include "common/base/random_streams.h"
#include "common/layout/initial_values.h"
#include "common/layout/model_shape.h"
#include "tests/gpu/kernels/update_cases.h"

namespace weir::gpu {
namespace {

constexpr uint64_t kSeed = 7;

// Those of ids 0 .. count - 1, behind `begin` rows and before one more, which are of 77.
std::vector<float> InitialRows(const TableSpec& table, size_t begin, size_t count) {
  std::vector<float> rows((begin + count + 1) * kDimension, 77.0f);
  for (size_t id = 0; id < count; ++id) {
    InitialRowValues(kSeed, table, id,
                     std::span(rows).subspan((begin + id) * kDimension, kDimension));
  }
  return rows;
}

TEST(RowsOnACard, BeginAsOnTheHost) {
  TableSpec table;
  table.id = 2;
  table.row_count = 100;  // within a tenth
  for (const size_t count : {size_t{0}, size_t{1}, size_t{60}}) {
    for (const size_t state_width : {size_t{0}, size_t{1}, 2 * kDimension}) {
      OnCard([&](const Bench& bench) {
        constexpr size_t kBegin = 3;
        const auto values = bench.Put(std::vector<float>((kBegin + count + 1) * kDimension, 77.0f));
        const auto state = bench.Put(std::vector<float>((kBegin + count + 1) * state_width, 77.0f));
        bench.compute.update->initialize_rows(
            bench.stream,
            {values.data(), state.data(), nullptr, kDimension, static_cast<int64_t>(state_width)},
            kBegin, static_cast<int64_t>(count), KeyedHash(kSeed, RunStream::kInitialRow, table.id),
            0.1, 0.25f);
        ExpectClose(bench.Get<float>(values.span()), InitialRows(table, kBegin, count));
        std::vector<float> expected(state.size(), 77.0f);
        std::fill_n(expected.begin() + static_cast<ptrdiff_t>(kBegin * state_width),
                    count * state_width, 0.25f);
        EXPECT_EQ(bench.Get<float>(state.span()), expected);
      });
    }
  }
}

// Four rows of 77, and as much to read them into; numbers and rests are there, and none counts.
class RowsOfNothing {
 public:
  explicit RowsOfNothing(const Bench& bench) : bench_(bench) {}

  void ExpectUntouched() const {
    for (const auto* const buffer : {&values_, &state_, &to_}) {
      EXPECT_EQ(bench_.Get<float>(buffer->span()), before_);
    }
    EXPECT_EQ(bench_.Get<uint8_t>(is_trained_.span()), std::vector<uint8_t>(4, 7));
  }
  kernels::StoredRows rows() const {
    return {values_.data(), state_.data(), is_trained_.data(), kDimension, kDimension};
  }
  kernels::RowNumbers numbers(int64_t count) const { return {numbers_.data(), count}; }
  device::Pointer<const kernels::Rest> rests() const { return rests_.data(); }
  device::Pointer<float> to() const { return to_.data(); }

 private:
  const Bench& bench_;
  const std::vector<float> before_ = std::vector<float>(4 * kDimension, 77.0f);
  const device::Buffer<float> values_ = bench_.Put(before_), state_ = bench_.Put(before_),
                              to_ = bench_.Put(before_);
  const device::Buffer<uint8_t> is_trained_ = bench_.Put(std::vector<uint8_t>(4, 7));
  const device::Buffer<uint32_t> numbers_ = bench_.Put<uint32_t>({1, 2});
  const device::Buffer<kernels::Rest> rests_ =
      bench_.Put(std::vector<kernels::Rest>(2, {0, 2, 1, 0, 1}));
};

TEST(RowsOnACard, OfNoRowsNothingIsReadOrWritten) {
  OnCard([](const Bench& bench) {
    const RowsOfNothing of(bench);
    const kernels::RowNumbers none = of.numbers(0), two = of.numbers(2);
    const UpdateStep step = kernels::AdagradStep{0.1f, 0, 1e-6f};
    const kernels::UpdateTable& table = *bench.compute.update;
    table.read_rows(bench.stream, of.rows(), none, of.to());
    table.rest_rows(bench.stream, step, of.rows(), none, of.rests());
    table.read_rested_rows(bench.stream, step, of.rows(), none, of.rests(), of.to());
    table.update_rows(bench.stream, step, of.rows(), none, of.to());
    table.update_rows(bench.stream, kernels::RowwiseAdagradStep{0.1f, 1e-6f}, of.rows(), none,
                      of.to());
    table.copy_rows(bench.stream, of.rows().values, none, kDimension, none, of.to());
    table.copy_rows(bench.stream, of.rows().values, two, 0, two, of.to());
    table.write_rows(bench.stream, of.rows().values, none, kDimension, of.to());
    table.write_rows(bench.stream, of.rows().values, two, 0, of.to());
    of.ExpectUntouched();
  });
}

}  // namespace
}  // namespace weir::gpu
