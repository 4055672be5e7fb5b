// When the steps of a run without servers are there for others than who took them, on a card.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "common/device/buffers.h"
#include "common/layout/model_layout.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"
#include "tests/integration/cluster_checks.h"
#include "worker/embedded/embedded_client.h"

namespace weir::test {
namespace {

// Without tables, of which a batch would need ids.
constexpr char kNoTables[] = R"(
    data { batch_size: 32 synthetic { rows: 1280 tables: 0 dense_features: 4 } }
    model { bottom_widths: [8, 4] top_widths: [8, 1] embedding_dimension: 4 }
    update { dense { sgd { learning_rate: 1 } schedule { warmup_steps: 0 } } })";

class EmbeddedStepsOnACard : public testing::Test {
 protected:
  // By a stream of its own.
  std::vector<float> Replica() {
    std::vector<float> values(static_cast<size_t>(layout_.flat_element_count()));
    const auto stream = device_->MakeStream();
    stream->CopyToHost<float>({client_->replica(), values.size()}, values);
    EXPECT_TRUE(stream->Synchronize().ok());
    return values;
  }

  const v1::Config config_ = MakeConfig({kNoTables});
  const ModelLayout layout_{config_, 1};
  const std::unique_ptr<gpu::CudaDevice> device_ = OpenCard();
  std::unique_ptr<worker::EmbeddedClient> client_;
};

TEST_F(EmbeddedStepsOnACard, AreAppliedOnceTheClientIsRefreshed) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const auto card = gpu::CudaCompute(*device_, kernels::Precision::kF32, 32);
  client_ = std::make_unique<worker::EmbeddedClient>(config_, layout_, card);
  const std::vector<float> before = Replica(), ones(before.size(), 1.0f);
  const auto stream = device_->MakeStream();
  const device::Buffer<float> gradients(*device_, ones.size(), "gradients");
  stream->CopyToDevice<float>(ones, gradients.span());
  const data::Batch batch;
  const auto pull = client_->PullRows(batch, /*read_only=*/false);
  worker::StepGradients step;
  step.batch = &batch;
  step.pull = pull.get();
  ASSERT_TRUE(client_->AwaitRowsOnDevice(pull.get(), *stream, {}).ok());
  step.dense = gradients.span();
  step.stream = stream.get();
  ASSERT_TRUE(client_->Push(step).ok());
  ASSERT_TRUE(client_->Refresh().ok());
  const std::vector<float> after = Replica();
  for (size_t i = 0; i < after.size(); ++i) ASSERT_FLOAT_EQ(after[i], before[i] - 1.0f);
}

}  // namespace
}  // namespace weir::test
