// A stage of a pipeline on a card, whose hidden ReLUs may make 0 of NaN: it ends the run by what
// its own parameters and gradients are, though what it sends on is finite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/device/buffers.h"
#include "google/protobuf/text_format.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"
#include "tests/worker/model/model_support.h"
#include "worker/pipeline/stage_batch.h"

namespace weir::worker {
namespace {

constexpr int32_t kRowCount = 20;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

ModelLayout LayoutOfTwoStages() {
  test::ModelShape shape{.bottom = {8, 6, 4}, .top = {7, 5, 1}};
  CHECK(google::protobuf::TextFormat::ParseFromString(R"(split { after: "bottom/1" none {} })",
                                                      &shape.pipeline));
  return test::MakeLayout(shape);
}

class StageOnACard : public testing::Test {
 protected:
  StageOnACard() : layout_(LayoutOfTwoStages()), card_(test::OpenCard()) {}

  void SetUp() override {
    if (card_ == nullptr) GTEST_SKIP() << test::CardFailure();
  }

  // What the first stage says of a batch, after a gradient from behind that is `behind` everywhere.
  Status Backward(float behind) {
    const kernels::Compute compute = gpu::CudaCompute(*card_, kernels::Precision::kF32, kRowCount);
    const auto stream = card_->MakeStream();
    const device::Buffer<float> parameters = Put(*stream, parameters_);
    const device::Buffer<float> dense(*card_, parameters_.size(), "a test");
    StageMath math(layout_, 0, 0, compute, *stream, {});
    StageBatch batch;
    batch.batch = test::RandomBatch(layout_, kRowCount, 4, 11);
    batch.name.set_row_count(kRowCount);
    batch.name.set_mean_rows(kRowCount);
    session::BodyWriter forward, backward;
    const session::Body nothing;
    session::BodyReader none(nothing);
    WEIR_RETURN_IF_ERROR(math.Forward(parameters.data(), {}, StageMath::Crossing::kAsTrained, &none,
                                      &batch, &forward));
    const session::Body from_behind = FramesOf(behind);
    session::BodyReader input(from_behind);
    WEIR_RETURN_IF_ERROR(
        math.Backward(parameters.data(), {dense.data(), {}, {}}, &input, &batch, &backward));
    return math.AwaitFinite(parameters.data(), dense.data());
  }

  float& Parameter(const std::string& tensor, int64_t element) {
    for (const TensorSpec& spec : layout_.tensors()) {
      if (spec.name == tensor) return parameters_[static_cast<size_t>(spec.offset + element)];
    }
    CHECK(false) << tensor;
    return parameters_[0];
  }

  ModelLayout layout_;
  std::unique_ptr<gpu::CudaDevice> card_;
  std::vector<float> parameters_ = [this] {
    const tensor::AlignedBuffer initial = test::InitialParameters(layout_);
    return std::vector<float>(initial.data(), initial.data() + test::FlatSize(layout_));
  }();

 private:
  device::Buffer<float> Put(device::Stream& stream, const std::vector<float>& values) const {
    device::Buffer<float> buffer(*card_, values.size(), "a test");
    stream.CopyToDevice<float>(std::span<const float>(values), buffer.span());
    CHECK(stream.Synchronize().ok());
    return buffer;
  }

  // As the second stage sends them.
  session::Body FramesOf(float value) const {
    constexpr int64_t kFeatures = 6;
    const int64_t stride = kernels::PaddedStride(kRowCount);
    std::vector<float> block(static_cast<size_t>(kFeatures * stride), value);
    const auto policy = split::MakeWholePolicy();
    split::BlockMemory memory;
    session::BodyWriter writer;
    policy->SendBackward({}, {block.data(), kFeatures, kRowCount, stride}, memory, writer.Next());
    session::Body body;
    writer.MoveTo(&body);
    return body;
  }
};

TEST_F(StageOnACard, IsFine) { EXPECT_TRUE(Backward(1).ok()); }

TEST_F(StageOnACard, NamesAParameterThatIsNotFinite) {
  Parameter("bottom/0/weight", 3) = kNaN;
  EXPECT_THAT(Backward(1).message(), testing::StartsWith("bottom/0/weight is not finite. "));
}

TEST_F(StageOnACard, NamesAGradientThatIsNotFinite) {
  EXPECT_THAT(Backward(kNaN).message(),
              testing::ContainsRegex("^the gradient of bottom/[01]/weight is not finite. "));
}

}  // namespace
}  // namespace weir::worker
