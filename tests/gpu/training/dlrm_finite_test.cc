// A model on a card whose gradients overflow, though all that it computes forward is finite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/device/buffers.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"
#include "tests/worker/model/model_support.h"
#include "worker/model/dlrm.h"

namespace weir::model {
namespace {

constexpr int32_t kRowCount = 20;

template <typename T>
device::Buffer<T> Put(device::Device& card, device::Stream& stream, std::span<const T> values) {
  device::Buffer<T> buffer(card, values.size(), "a test");
  stream.CopyToDevice<T>(values, buffer.span());
  CHECK(stream.Synchronize().ok());
  return buffer;
}

// Features near the largest float, weights near the least: each sample gives a weight as much as it
// can hold.
TEST(DlrmOnACard, NamesAGradientThatIsNotFinite) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const ModelLayout layout = test::MakeLayout({.bottom = {8, 4}, .top = {5, 1}});
  const auto card = test::OpenCard();
  const auto stream = card->MakeStream();
  data::Batch batch = test::RandomBatch(layout, kRowCount, 4, 11);
  std::ranges::fill(batch.dense, 3e38f);
  std::ranges::fill(batch.labels, 0.0f);
  std::vector<float> parameters(test::FlatSize(layout), 1.0f);
  const TensorSpec& first = layout.tensors()[0];
  std::fill_n(parameters.begin() + first.offset, first.element_count(), 1e-39f);
  const device::Buffer<float> on_card = Put<float>(*card, *stream, parameters);
  const std::vector<float> rows = test::RandomRows(layout, batch, 12);
  const device::Buffer<float> rows_on_card = Put<float>(*card, *stream, rows);
  const device::Buffer<float> dense(*card, parameters.size(), "a test");
  const device::Buffer<float> row_gradients(*card, rows.size(), "a test");
  Dlrm dlrm(layout, gpu::CudaCompute(*card, kernels::Precision::kF32, kRowCount));
  const auto loss = dlrm.Train(*stream, on_card.data(), batch, rows_on_card.span(), 1,
                               {dense.data(), row_gradients.span(), {}});
  EXPECT_THAT(loss.status().message(),
              testing::StartsWith("the gradient of bottom/0/weight is not finite. "));
}

}  // namespace
}  // namespace weir::model
