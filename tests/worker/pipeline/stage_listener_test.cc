// What a listener hears of a model of which each stage is computed by itself.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/kernels/compute.h"
#include "common/tensor/aligned_buffer.h"
#include "google/protobuf/text_format.h"
#include "tests/worker/model/heard_gradients.h"
#include "tests/worker/model/model_support.h"
#include "worker/pipeline/stage_batch.h"

namespace weir::worker {
namespace {

constexpr int32_t kRowCount = 2 * model::kSplitRows + 37;  // in three slices

ModelLayout LayoutOfTwoStages() {
  test::ModelShape shape{.bottom = {8, 6, 4}, .top = {7, 5, 1}};
  CHECK(google::protobuf::TextFormat::ParseFromString(R"(split { after: "bottom/1" none {} })",
                                                      &shape.pipeline));
  return test::MakeLayout(shape);
}

// One of two stages, with a batch.
class HeardStage {
 public:
  HeardStage(const ModelLayout& layout, uint32_t stage)
      : parameters_(test::InitialParameters(layout)),
        math_(layout, 0, stage, kernels::CpuCompute(kernels::Precision::kF32), device::CpuStream(),
              {}),
        dense_(test::FlatSize(layout)) {
    batch_.batch = test::RandomBatch(layout, kRowCount, 4, 11);
    batch_.name.set_row_count(kRowCount);
    batch_.name.set_mean_rows(kRowCount);
    rows_ = test::RandomRows(layout, batch_.batch, 12);
    row_gradients_.resize(rows_.size());
    heard_.emplace(layout,
                   model::GradientBuffers{
                       device::OnCpu(dense_.data()), device::OnCpu(std::span(row_gradients_)), {}});
  }

  session::Body Forward(const session::Body& before) {
    session::BodyReader input(before);
    session::BodyWriter output;
    CHECK(math_
              .Forward(parameters(), rows(), StageMath::Crossing::kAsTrained, &input, &batch_,
                       &output)
              .ok());
    if (math_.is_last()) CHECK(math_.Loss(parameters(), rows(), &batch_).ok());
    return BodyOf(&output);
  }
  session::Body Backward(const session::Body& behind) {
    session::BodyReader input(behind);
    session::BodyWriter output;
    CHECK(math_.Backward(parameters(), heard_->buffers(), &input, &batch_, &output).ok());
    return BodyOf(&output);
  }
  const test::HeardGradients& heard() const { return *heard_; }

 private:
  static session::Body BodyOf(session::BodyWriter* writer) {
    session::Body body;
    writer->MoveTo(&body);
    return body;
  }
  device::Pointer<const float> parameters() const { return device::OnCpu(parameters_.data()); }
  device::Span<const float> rows() const { return device::OnCpu(std::span(rows_)); }

  tensor::AlignedBuffer parameters_;
  StageMath math_;
  tensor::AlignedBuffer dense_;
  StageBatch batch_;
  std::vector<float> rows_, row_gradients_;
  std::optional<test::HeardGradients> heard_;
};

TEST(StageListener, HearsOfEachStagesGradientsOnceWhenTheyAreFinal) {
  const ModelLayout layout = LayoutOfTwoStages();
  HeardStage first(layout, 0), last(layout, 1);
  first.Backward(last.Backward(last.Forward(first.Forward({}))));
  std::vector<std::string> names = last.heard().names();
  EXPECT_EQ(names.size(), 9u);  // of four layers and the rows
  names.insert(names.end(), first.heard().names().begin(), first.heard().names().end());
  EXPECT_EQ(names, test::NamesInBackwardOrder(layout));
  first.heard().ExpectFinal(device::CpuStream());
  last.heard().ExpectFinal(device::CpuStream());
}

}  // namespace
}  // namespace weir::worker
