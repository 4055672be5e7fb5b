// What a listener hears of a batch, on any device, with the gradients as they are at that place of
// the stream.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "common/device/device.h"
#include "common/layout/model_layout.h"
#include "worker/model/gradient_listener.h"
#include "worker/model/stage.h"

namespace weir::test {

class HeardGradients final : public model::GradientListener {
 public:
  // gradients: where the batch's go; its listener is not looked at.
  HeardGradients(const ModelLayout& layout, const model::GradientBuffers& gradients)
      : layout_(layout), gradients_(gradients) {}

  // gradients, with this as listener.
  model::GradientBuffers buffers() {
    model::GradientBuffers buffers = gradients_;
    buffers.listener = this;
    return buffers;
  }

  void OnTensors(device::Stream& stream, uint32_t begin, uint32_t end) override {
    for (uint32_t i = begin; i < end; ++i) {
      names_.push_back(layout_.tensors()[i].name);
      Copy(stream, DenseOf(layout_.tensors()[i]));
    }
  }
  void OnRows(device::Stream& stream) override {
    names_.push_back("rows");
    Copy(stream, gradients_.rows);
    Copy(stream, gradients_.row_squares);
  }

  // "rows", or a tensor's, in the order in which they were heard.
  const std::vector<std::string>& names() const { return names_; }

  // That all were then as they are now, to the bit.
  void ExpectFinal(device::Stream& stream) const {
    for (const auto& [at, then] : copies_) {
      std::vector<float> now(at.size);
      stream.CopyToHost<float>(at, now);
      ASSERT_TRUE(stream.Synchronize().ok());
      EXPECT_TRUE(then.empty() ||
                  std::memcmp(then.data(), now.data(), then.size() * sizeof(float)) == 0);
    }
  }

  device::Span<float> DenseOf(const TensorSpec& tensor) const {
    return {gradients_.dense + tensor.offset, static_cast<size_t>(tensor.element_count())};
  }

 private:
  void Copy(device::Stream& stream, device::Span<float> from) {
    auto& [at, values] = copies_.emplace_back(from, std::vector<float>(from.size));
    stream.CopyToHost<float>(at, values);
  }

  const ModelLayout& layout_;
  const model::GradientBuffers gradients_;
  std::vector<std::string> names_;
  std::deque<std::pair<device::Span<float>, std::vector<float>>> copies_;  // never move
};

// All there are, in backward order.
inline std::vector<std::string> NamesInBackwardOrder(const ModelLayout& layout) {
  std::vector<std::string> names;
  const auto add = [&](std::span<const uint32_t> weights) {
    for (size_t i = weights.size(); i-- > 0;) {
      names.push_back(layout.tensors()[weights[i]].name);
      names.push_back(layout.tensors()[weights[i] + 1].name);
    }
  };
  add(layout.top_weights());
  names.push_back("rows");
  add(layout.bottom_weights());
  return names;
}

}  // namespace weir::test
