// The sections of a card, at their smallest, on the card that tests have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/base/strings.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"
#include "tools/bench/card.h"
#include "tools/bench/card_kernel.h"
#include "tools/bench/card_selection.h"

namespace weir::bench {
namespace {

using testing::Contains;
using testing::HasSubstr;

Result<Card> OpenTested(kernels::Precision precision, int64_t batch_rows) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<gpu::CudaDevice> device, gpu::CudaDevice::Open(0));
  const kernels::Compute compute = gpu::CudaCompute(*device, precision, batch_rows);
  return Card{std::move(device), compute};
}

// Not a constant expression, because its words are strings. No peers: their Python is none.
const Options quick = {.repeats = 1,
                       .quick = true,
                       .peers = "/nonexistent",
                       .device = "cuda:0",
                       .open_card = OpenTested};

std::vector<std::string> NamesOf(const std::string& section) {
  const Result<Lines> lines = FindSection(section)->run(quick);
  EXPECT_TRUE(lines.ok()) << lines.status();
  std::vector<std::string> names;
  for (const Line& line : lines.ok() ? *lines : Lines()) {
    EXPECT_GT(line.value, 0) << line.name;
    names.push_back(line.name);
  }
  return names;
}

class SectionsOfACard : public testing::Test {
 protected:
  void SetUp() override { WEIR_SKIP_WITHOUT_A_CARD(); }
};

TEST_F(SectionsOfACard, SelectionIsMeasured) {
  const auto names = NamesOf("gpu/select");
  for (const char* name : {"copy", "99", "95", "top_k/topk", "top_k/topk_step"}) {
    EXPECT_THAT(names, Contains(StrCat("gpu/select/", name)));
  }
}

TEST_F(SectionsOfACard, WhatCrossesASplitIsMeasured) {
  EXPECT_THAT(NamesOf("gpu/split"), Contains("gpu/split/dct_mp"));
}

TEST_F(SectionsOfACard, EachKernelOfThePageIsMeasured) {
  const auto names = NamesOf("gpu/kernels");
  for (const char* name :
       {"transpose", "pool_tables", "linear_forward/f32", "linear_forward/bf16",
        "interaction_forward", "loss", "note_not_finite", "linear_backward_data/f32",
        "linear_backward_weight/bf16", "interaction_backward", "scatter_tables",
        "accumulate_and_select", "read_rows", "update_rows", "rest_rows", "read_rested_rows",
        "update_dense", "find_largest", "sum_buckets"}) {
    EXPECT_THAT(names, Contains(StrCat("gpu/kernels/", name)));
  }
}

TEST_F(SectionsOfACard, ProductsAreMeasured) {
  const auto names = NamesOf("gpu/products");
  EXPECT_THAT(names, Contains("gpu/products/f32/13x512/linear_forward"));
  EXPECT_THAT(names, Contains("gpu/products/bf16/13x512/linear_backward_weight"));
  EXPECT_THAT(names, Contains("gpu/products/bf16/13x512/bare_forward"));
}

TEST_F(SectionsOfACard, TrainingIsMeasured) {
  EXPECT_THAT(NamesOf("gpu/train_f32"), Contains(HasSubstr("gpu/train/f32/batch_")));
  EXPECT_THAT(NamesOf("gpu/train_bf16"), Contains(HasSubstr("gpu/train/bf16/batch_")));
}

// On the CPU: it is the programs of the build that train.
TEST(SectionsOfPrograms, TrainingWithAServerIsMeasured) {
  Options options = quick;
  options.device = "cpu";
  const Result<Lines> lines = FindSection("gpu/served")->run(options);
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_GT(lines->front().value, 0);
  EXPECT_GT(lines->front().Ratio(), 0);
}

TEST_F(SectionsOfACard, ASelectionThatForgetsTheGradientIsFound) {
  Card card = *OpenTested(kernels::Precision::kF32, 1);
  kernels::SelectTable wrong = *card.compute.select;
  wrong.accumulate_and_select = [](device::Stream& stream, const kernels::StripesView& stripes,
                                   device::Pointer<const kernels::LayerPlan>,
                                   const kernels::SelectFrom&,
                                   const kernels::SelectedView& selected) {
    stream.Zero<uint32_t>({selected.ends, static_cast<size_t>(stripes.count)});
  };
  card.compute.select = &wrong;
  CardSelection layer(card, 10'000, 0.01);
  EXPECT_THAT(layer.CheckStep().message(), HasSubstr("other elements leave"));
}

TEST_F(SectionsOfACard, ARankThatIsNotTheRightOneIsFound) {
  Card card = *OpenTested(kernels::Precision::kF32, 1);
  kernels::SelectTable wrong = *card.compute.select;
  wrong.find_ranks = [](device::Stream&, const kernels::StripesView&,
                        device::Pointer<kernels::LayerRank>, int64_t, device::Pointer<const float>,
                        device::Pointer<const float>, device::Pointer<kernels::LayerThreshold>) {};
  card.compute.select = &wrong;
  CardSelection layer(card, 10'000, 0.01);
  EXPECT_THAT(layer.CheckTopStep(100).message(), HasSubstr("the magnitude of rank 100 is"));
}

TEST_F(SectionsOfACard, AProductThatComputesNothingIsFound) {
  Card card = *OpenTested(kernels::Precision::kF32, 4);
  kernels::DeviceKernels wrong = *card.compute.kernels;
  wrong.linear_forward = [](device::Stream&, const kernels::ConstDeviceMatrix&,
                            const kernels::ConstDeviceMatrix&, const kernels::ConstDeviceVector&,
                            kernels::Activation, const kernels::DeviceMatrix&) {};
  card.compute.kernels = &wrong;
  const CardKernel kernel = LayerKernels({64, 16}, 4).front();
  const auto seconds = MeasureKernel(kernel, card, kernels::Precision::kF32, quick);
  EXPECT_THAT(seconds.status().message(), HasSubstr("linear_forward: element 1 is 0 on the card"));
}

}  // namespace
}  // namespace weir::bench
