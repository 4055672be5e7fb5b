// How the lists of card_kernel.h put the operands of a kernel on a device.
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <bit>
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
    return {Put(Drawn(rows * stride, scale)), rows, columns, stride};
  }
  // Features by samples; hidden ones as the device has them.
  kernels::DeviceMatrix Activations(int64_t features, int64_t samples, float scale = 0) {
    const int64_t stride = kernels::PaddedStride(samples);
    return Lying(Drawn(features * stride, scale), features, samples);
  }
  // A ReLU's.
  kernels::DeviceMatrix Rectified(int64_t features, int64_t samples) {
    std::vector<float> values = Drawn(features * kernels::PaddedStride(samples), 1);
    for (float& value : values) value = std::max(value, 0.0f);
    return Lying(values, features, samples);
  }
  kernels::DeviceMatrix Result(const kernels::DeviceMatrix& matrix) {
    placed_->results.emplace_back(matrix);
    return matrix;
  }

 private:
  std::vector<float> Drawn(int64_t count, float scale) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) {
      if (scale != 0) value = scale * static_cast<float>(2 * random_.NextUnit() - 1);
    }
    return values;
  }

  // values: features by samples, of a padded stride.
  kernels::DeviceMatrix Lying(const std::vector<float>& values, int64_t features, int64_t samples) {
    const int64_t stride = kernels::PaddedStride(samples);
    if (!IsHidden(features) || !compute_.turns_hidden) {
      return {Put(values), features, samples, stride};
    }
    const int64_t turned_stride = kernels::TurnedStride(features);
    const int64_t signs_stride = kernels::SignsStride(features);
    std::vector<float> turned(static_cast<size_t>(kernels::TurnedFloats(features, samples)));
    for (int64_t f = 0; f < features; ++f) {
      for (int64_t s = 0; s < samples; ++s) {
        const float value = values[static_cast<size_t>(f * stride + s)];
        turned[static_cast<size_t>(s * turned_stride + f)] = value;
        float& signs =
            turned[static_cast<size_t>(samples * turned_stride + s * signs_stride + f / 32)];
        const uint32_t sign = value > 0 ? 1 : 0;
        signs = std::bit_cast<float>(std::bit_cast<uint32_t>(signs) | sign << f % 32);
      }
    }
    return {Put(turned), features, samples, turned_stride, true};
  }

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
