// How the lists of card_kernel.h put the operands of a kernel on a device.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "tools/bench/card_kernel.h"

namespace weir::bench {

// Puts operands on a device, the same on each.
class Placing {
 public:
  Placing(const kernels::Compute& compute, device::Stream& stream, PlacedKernel* placed)
      : compute_(compute), stream_(stream), placed_(placed), random_(1) {}

  const kernels::DeviceKernels& kernels() const { return *compute_.kernels; }
  // Null on the CPU.
  const kernels::UpdateTable* update() const { return compute_.update; }
  device::Stream& stream() const { return stream_; }
  template <typename Call>
  void Do(Call call) {
    placed_->calls.emplace_back(std::move(call));
  }

  template <typename T>
  device::Pointer<T> Put(const std::vector<T>& values) {
    auto buffer =
        std::make_shared<device::Buffer<T>>(*compute_.device, values.size(), "a kernel's operands");
    stream_.CopyToDevice<T>(std::span(values), buffer->span());
    (void)stream_.Synchronize();  // what failed stays the stream's
    placed_->memory.push_back(buffer);
    return buffer->data();
  }

  // Numbers below `scale`, of both signs; 0: zeros.
  kernels::DeviceMatrix Matrix(int64_t rows, int64_t columns, int64_t stride, float scale = 0) {
    std::vector<float> values(static_cast<size_t>(rows * stride));
    for (float& value : values) {
      if (scale != 0) value = scale * static_cast<float>(2 * random_.NextUnit() - 1);
    }
    return {Put(values), rows, columns, stride};
  }
  // Features by samples.
  kernels::DeviceMatrix Activations(int64_t features, int64_t samples, float scale = 0) {
    return Matrix(features, samples, kernels::PaddedStride(samples), scale);
  }
  kernels::DeviceMatrix Result(const kernels::DeviceMatrix& matrix) {
    placed_->results.emplace_back(matrix);
    return matrix;
  }

 private:
  const kernels::Compute& compute_;
  device::Stream& stream_;
  PlacedKernel* placed_;
  RandomStream random_;
};

// place(Placing) puts its operands there.
template <typename Place>
CardKernel Named(const char* name, double bytes, double operations, Place place) {
  return {name, bytes, operations,
          [place](const kernels::Compute& compute, device::Stream& stream, PlacedKernel* placed) {
            place(Placing(compute, stream, placed));
          }};
}

}  // namespace weir::bench
