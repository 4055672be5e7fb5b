// A device on which an operation is tried, and matrices there.
#pragma once

#include <gtest/gtest.h>

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
      : bench_(bench), rows_(rows), columns_(columns), stride_(stride), first_(kAround + shift) {
    RandomStream random(seed);
    std::vector<float> values(static_cast<size_t>(rows * stride) + first_ + kAround, kOutside);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        values[first_ + static_cast<size_t>(r * stride + c)] = draw(&random);
      }
    }
    memory_ = bench.Put(values);
  }

  kernels::DeviceMatrix view() const {
    return {memory_.data() + static_cast<int64_t>(first_), rows_, columns_, stride_};
  }
  kernels::DeviceVector vector() const { return {view().data, columns_}; }

  // What it holds. Fails where anything around it was written.
  std::vector<float> Contents() const {
    const std::vector<float> all = bench_.Get<float>(memory_.span());
    std::vector<float> contents;
    const size_t end = first_ + static_cast<size_t>(rows_ * stride_);
    for (size_t i = 0; i < all.size(); ++i) {
      const bool is_around = i < first_ || i >= end;
      if (is_around && all[i] != kOutside) ADD_FAILURE() << "something was written at " << i;
      const bool is_inside =
          !is_around && (i - first_) % static_cast<size_t>(stride_) < static_cast<size_t>(columns_);
      if (is_inside) contents.push_back(all[i]);
    }
    return contents;
  }

 private:
  static constexpr size_t kAround = 64;
  static constexpr float kOutside = 77.0f;

  const Bench& bench_;
  const int64_t rows_, columns_, stride_;
  const size_t first_;
  device::Buffer<float> memory_;
};

}  // namespace weir::test
