// What a run without servers adds to a step: rows read from all tables, and the update rules, as
// plain SGD, and what momentum did to rows at rest. Bytes as tools/pages/make_gpu_floors.py counts
// them.

#include <algorithm>
#include <numeric>
#include <random>

#include "tools/bench/placing.h"

namespace weir::bench {
namespace {

constexpr kernels::SgdStep kStep = {.rate = 0.125f, .decay = 0};

// Each row once, in any order.
std::vector<uint32_t> ShuffledRows(int64_t row_count) {
  std::vector<uint32_t> numbers(static_cast<size_t>(row_count));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::shuffle(numbers.begin(), numbers.end(), std::minstd_rand(1));
  return numbers;
}

// from[numbers[i], :] and to[i, :], of one device.
struct Rows {
  kernels::StoredRows stored;
  kernels::RowNumbers numbers;
  kernels::DeviceMatrix stored_values, batch;
};

Rows PlaceRows(int64_t row_count, Placing* at) {
  const auto stored = at->Matrix(row_count, kDimension, kDimension, 1);
  const auto batch = at->Matrix(row_count, kDimension, kDimension, 1);
  const auto is_trained = at->Put(std::vector<uint8_t>(static_cast<size_t>(row_count)));
  return {{stored.data, nullptr, is_trained, kDimension, 0},
          {at->Put(ShuffledRows(row_count)), row_count},
          stored,
          batch};
}

// Of the host, as a device without such kernels has none.
template <typename DoRow>
void ForEachRow(const Rows& rows, const DoRow& do_row) {
  for (int64_t i = 0; i < rows.numbers.count; ++i) {
    const int64_t row = rows.numbers.numbers.address()[i];
    do_row(rows.stored.values.address() + row * kDimension,
           rows.batch.data.address() + i * kDimension);
  }
}

void PlaceReadRows(int64_t row_count, Placing at) {
  const Rows rows = PlaceRows(row_count, &at);
  at.Result(rows.batch);
  at.Do([=, update = at.update()] {
    if (update != nullptr) {
      return update->read_rows(at.stream(), rows.stored, rows.numbers, rows.batch.data);
    }
    ForEachRow(rows, [](float* stored, float* to) { std::copy_n(stored, kDimension, to); });
  });
}

void PlaceUpdateRows(int64_t row_count, Placing at) {
  const Rows rows = PlaceRows(row_count, &at);
  at.Result(rows.stored_values);
  at.Do([=, update = at.update()] {
    if (update != nullptr) {
      return update->update_rows(at.stream(), kStep, rows.stored, rows.numbers, rows.batch.data);
    }
    ForEachRow(rows, [](float* stored, const float* gradient) {
      for (int64_t d = 0; d < kDimension; ++d) stored[d] -= kStep.rate * gradient[d];
    });
  });
}

constexpr kernels::MomentumStep kMomentum = {
    .momentum = 0.5f, .rate = 0.125f, .gradient_rate = 0, .decay = 0};
constexpr kernels::Rest kRest = {.displacement = 0.125f, .fade = 0.5f};

struct RestedRows {
  Rows rows;
  kernels::DeviceMatrix moments;
  device::Pointer<const kernels::Rest> rests;
};

RestedRows PlaceRestedRows(int64_t row_count, Placing* at) {
  RestedRows rested{.rows = PlaceRows(row_count, at),
                    .moments = at->Matrix(row_count, kDimension, kDimension, 1),
                    .rests = at->Put(std::vector(static_cast<size_t>(row_count), kRest))};
  rested.rows.stored.state = rested.moments.data;
  rested.rows.stored.state_width = kDimension;
  return rested;
}

// do_element(x, m, to) for each element of the rows.
template <typename DoElement>
void ForEachElement(const RestedRows& rested, const DoElement& do_element) {
  const Rows& rows = rested.rows;
  for (int64_t i = 0; i < rows.numbers.count; ++i) {
    const int64_t row = rows.numbers.numbers.address()[i];
    for (int64_t d = 0; d < kDimension; ++d) {
      do_element(rows.stored.values.address()[row * kDimension + d],
                 rows.stored.state.address()[row * kDimension + d],
                 rows.batch.data.address()[i * kDimension + d]);
    }
  }
}

void PlaceReadRestedRows(int64_t row_count, Placing at) {
  const RestedRows rested = PlaceRestedRows(row_count, &at);
  at.Result(rested.rows.batch);
  at.Do([=, update = at.update()] {
    const Rows& rows = rested.rows;
    if (update != nullptr) {
      return update->read_rested_rows(at.stream(), kMomentum, rows.stored, rows.numbers,
                                      rested.rests, rows.batch.data);
    }
    ForEachElement(rested, [](float x, float m, float& to) {
      kRest.Catch(x, &m);
      to = x;
    });
  });
}

void PlaceRestRows(int64_t row_count, Placing at) {
  const RestedRows rested = PlaceRestedRows(row_count, &at);
  at.Result(rested.rows.stored_values);
  at.Do([=, update = at.update()] {
    const Rows& rows = rested.rows;
    if (update != nullptr) {
      return update->rest_rows(at.stream(), kMomentum, rows.stored, rows.numbers, rested.rests);
    }
    ForEachElement(rested, [](float& x, float& m, float) { kRest.Catch(x, &m); });
  });
}

void PlaceUpdateDense(int64_t count, Placing at) {
  const auto gradients = at.Matrix(1, count, count, 1);
  const auto values = at.Result(at.Matrix(1, count, count, 1));
  at.Do([=, update = at.update()] {
    if (update != nullptr) {
      return update->update_dense(at.stream(), kStep, {gradients.data, count}, {values.data, count},
                                  nullptr);
    }
    for (int64_t i = 0; i < count; ++i) {
      values.data.address()[i] -= kStep.rate * gradients.data.address()[i];
    }
  });
}

}  // namespace

std::vector<CardKernel> UpdateKernels(int64_t batch) {
  const int64_t rows = batch * kTables, elements = DenseElements();
  const auto row_count = static_cast<double>(rows), count = static_cast<double>(elements);
  const auto named = [](const char* name, double bytes, double operations, int64_t size,
                        void (*place)(int64_t, Placing)) {
    return Named(name, bytes, operations, [=](const Placing& at) { place(size, at); });
  };
  return {named("read_rows", row_count * (8 * kDimension + 4), 0, rows, PlaceReadRows),
          named("update_rows", row_count * (12 * kDimension + 5), 2 * row_count * kDimension, rows,
                PlaceUpdateRows),
          named("read_rested_rows", row_count * (12 * kDimension + 24), 3 * row_count * kDimension,
                rows, PlaceReadRestedRows),
          named("rest_rows", row_count * (16 * kDimension + 24), 5 * row_count * kDimension, rows,
                PlaceRestRows),
          named("update_dense", 12 * count, 2 * count, elements, PlaceUpdateDense)};
}

}  // namespace weir::bench
