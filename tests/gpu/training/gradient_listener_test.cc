// What a listener hears where the model is on a card, which repeats what it did for a batch.
#include "worker/model/gradient_listener.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "common/base/check.h"
#include "common/device/buffers.h"
#include "google/protobuf/text_format.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"
#include "tests/worker/model/heard_gradients.h"
#include "tests/worker/model/model_support.h"
#include "worker/model/dlrm.h"

namespace weir::test {
namespace {

template <typename Values>
device::Buffer<float> OnCard(device::Device& card, const Values& values) {
  device::Buffer<float> buffer(card, values.size(), "values of a test");
  const auto stream = card.MakeStream();
  stream->CopyToDevice(std::span<const float>(values.data(), values.size()), buffer.span());
  CHECK(stream->Synchronize().ok());
  return buffer;
}

// Three batches from the same places, the second and third of which a card repeats.
void ExpectHeardOnACard(const ModelShape& shape) {
  const auto card = OpenCard();
  const ModelLayout layout = MakeLayout(shape);
  const auto compute = gpu::CudaCompute(*card, kernels::Precision::kF32, 64);
  model::Dlrm model(layout, compute);
  const data::Batch batch = RandomBatch(layout, 100, 4, 11);  // in two slices
  const auto parameters = OnCard(*card, InitialParameters(layout));
  const auto rows = OnCard(*card, RandomRows(layout, batch, 12));
  const device::Buffer<float> dense(*card, FlatSize(layout), "gradients");
  const device::Buffer<float> row_gradients(*card, rows.size(), "gradients of rows");
  const auto stream = card->MakeStream();
  for (int i = 0; i < 3; ++i) {
    HeardGradients heard(layout, {dense.data(), row_gradients.span(), {}});
    const auto loss = model.Train(*stream, parameters.data(), batch, rows.span(), batch.row_count,
                                  heard.buffers());
    ASSERT_TRUE(loss.ok()) << loss.status();
    EXPECT_EQ(heard.names(), NamesInBackwardOrder(layout));
    heard.ExpectFinal(*stream);
  }
}

TEST(GradientListenerOnACard, HearsOfEachGradientOnceWhereTheCardRepeats) {
  WEIR_SKIP_WITHOUT_A_CARD();
  ExpectHeardOnACard({});
}

TEST(GradientListenerOnACard, HearsOfStages) {
  WEIR_SKIP_WITHOUT_A_CARD();
  ModelShape shape;
  CHECK(google::protobuf::TextFormat::ParseFromString(
      R"(split { after: "bottom/0" none {} } split { after: "bottom/1" none {} })",
      &shape.pipeline));
  ExpectHeardOnACard(shape);
}

}  // namespace
}  // namespace weir::test
