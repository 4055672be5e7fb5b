// A device on which an operation is tried, and matrices there.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <span>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"
#include "tests/common/kernels/random_matrices.h"
#include "tests/gpu/card.h"

namespace weir::test {

// A device with a stream, for the time of an operation.
struct Bench {
  const kernels::Compute& compute;
  device::Stream& stream;

  template <typename T>
  device::Buffer<T> Put(const std::vector<T>& values) const {
    device::Buffer<T> buffer(*compute.device, values.size(), "a test");
    stream.CopyToDevice<T>(std::span<const T>(values), buffer.span());
    Finish();
    return buffer;
  }
  template <typename T>
  std::vector<T> Get(device::Span<const T> values) const {
    std::vector<T> host(values.size);
    stream.CopyToHost(values, std::span(host));
    Finish();
    return host;
  }
  void Finish() const {
    const Status status = stream.Synchronize();
    CHECK(status.ok()) << status << "\n" << CardReport();
  }
};

// A matrix on a bench, in the midst of memory that is not its own.
class PlacedMatrix {
 public:
  // Of eighths, or as `draw` has it. shift: from memory that is aligned for anything, in floats.
  PlacedMatrix(const Bench& bench, int64_t rows, int64_t columns, int64_t stride, uint64_t seed,
               float (*draw)(RandomStream*) = RandomEighth, size_t shift = 0)
      : PlacedMatrix(bench, rows, columns, stride, false, seed, draw, shift) {}
  // The same numbers turned, with their signs, as a ReLU's result has them.
  static PlacedMatrix Turned(const Bench& bench, int64_t rows, int64_t columns, uint64_t seed,
                             float (*draw)(RandomStream*) = RandomEighth, size_t shift = 0) {
    return {bench, rows, columns, kernels::TurnedStride(rows), true, seed, draw, shift};
  }

  kernels::DeviceMatrix view() const {
    return {memory_.data() + static_cast<int64_t>(first_), rows_, columns_, stride_, is_turned_};
  }
  kernels::DeviceVector vector() const { return {view().data, columns_}; }

  // What it holds, row after row. Fails where anything around it was written.
  std::vector<float> Contents() const {
    const std::vector<float> all = bench_.Get<float>(memory_.span());
    for (size_t i = 0; i < all.size(); ++i) {
      const bool is_around = i < first_ || i >= all.size() - kAround;
      if (is_around && all[i] != kOutside) ADD_FAILURE() << "something was written at " << i;
    }
    std::vector<float> contents;
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t c = 0; c < columns_; ++c) contents.push_back(all[PlaceOf(r, c)]);
    }
    return contents;
  }

 private:
  PlacedMatrix(const Bench& bench, int64_t rows, int64_t columns, int64_t stride, bool is_turned,
               uint64_t seed, float (*draw)(RandomStream*), size_t shift)
      : bench_(bench), rows_(rows), columns_(columns), stride_(stride) {
    first_ = kAround + shift;
    is_turned_ = is_turned;
    RandomStream random(seed);
    const auto count =
        static_cast<size_t>(is_turned ? kernels::TurnedFloats(rows, columns) : rows * stride);
    std::vector<float> values(count + first_ + kAround, kOutside);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        float& value = values[PlaceOf(r, c)];
        value = draw(&random);
        if (is_turned) SetSign(r, c, value != 0, &values);
      }
    }
    memory_ = bench.Put(values);
  }

  size_t PlaceOf(int64_t row, int64_t column) const {
    return first_ +
           static_cast<size_t>(is_turned_ ? column * stride_ + row : row * stride_ + column);
  }
  void SetSign(int64_t row, int64_t column, bool is_set, std::vector<float>* values) const {
    const int64_t begin = columns_ * stride_ + column * kernels::SignsStride(rows_);
    float& word = (*values)[first_ + static_cast<size_t>(begin + row / 32)];
    const uint32_t bit = uint32_t{1} << row % 32;
    const auto bits = std::bit_cast<uint32_t>(word);
    word = std::bit_cast<float>(is_set ? bits | bit : bits & ~bit);
  }

  static constexpr size_t kAround = 64;
  static constexpr float kOutside = 77.0f;

  const Bench& bench_;
  const int64_t rows_, columns_, stride_;
  size_t first_;
  bool is_turned_;
  device::Buffer<float> memory_;
};

}  // namespace weir::test
