// tests/golden/dlrm/dlrm.json holds a tiny DLRM computed in 64 bits by make_golden.py beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/kernels/compute.h"
#include "tests/worker/model/host_step.h"
#include "tests/worker/model/model_support.h"
#include "worker/model/dlrm.h"

namespace weir::model {
namespace {

constexpr double kRelativeTolerance = 1e-5;  // of the tensor's largest value

class DlrmGolden : public ::testing::Test {
 protected:
  DlrmGolden()
      : golden_(
            nlohmann::json::parse(std::ifstream(WEIR_SOURCE_DIR "/tests/golden/dlrm/dlrm.json"))),
        layout_(test::MakeLayout({golden_["dense_features"], golden_["tables"],
                                  golden_["dimension"], golden_["bottom_widths"],
                                  golden_["top_widths"], golden_["rows_per_table"]})),
        parameters_(test::FlatSize(layout_)) {
    for (const TensorSpec& spec : layout_.tensors()) {
      const auto values = golden_["parameters"][spec.name].get<std::vector<float>>();
      EXPECT_EQ(std::ssize(values), spec.element_count()) << spec.name;
      std::copy(values.begin(), values.end(), parameters_.data() + spec.offset);
    }
    data::RowBlock block;
    block.dense_count = golden_["dense_features"];
    block.table_count = golden_["tables"];
    block.labels = golden_["labels"].get<std::vector<float>>();
    block.dense = golden_["dense"].get<std::vector<float>>();
    block.ids = golden_["ids"].get<std::vector<uint64_t>>();
    data::MakeBatch(block, 0, block.row_count(), &batch_);
    for (const auto& table : golden_["rows"]) {
      for (const float value : table) rows_.push_back(value);
    }
  }

  static void ExpectSame(const std::string& name, std::span<const float> actual,
                         const std::vector<double>& expected) {
    ASSERT_EQ(actual.size(), expected.size()) << name;
    double largest = 0.0;
    for (const double value : expected) largest = std::max(largest, std::fabs(value));
    ASSERT_GT(largest, 0.0) << name;
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(actual[i], expected[i], kRelativeTolerance * largest) << name << " element " << i;
    }
  }

  nlohmann::json golden_;
  ModelLayout layout_;
  tensor::AlignedBuffer parameters_;
  data::Batch batch_;
  std::vector<float> rows_;
};

TEST_F(DlrmGolden, BatchHasTheGoldenUniqueIds) {
  for (size_t t = 0; t < batch_.tables.size(); ++t) {
    EXPECT_EQ(batch_.tables[t].unique, golden_["unique_ids"][t].get<std::vector<uint64_t>>());
    EXPECT_LT(batch_.tables[t].unique.size(), batch_.labels.size()) << "some id repeats";
  }
}

TEST_F(DlrmGolden, ProbabilitiesAreTheGoldenOnes) {
  Dlrm model(layout_, kernels::CpuCompute(kernels::Precision::kF32));
  std::vector<float> probabilities(batch_.labels.size());
  test::Score(&model, parameters_.data(), batch_, rows_, probabilities);
  ExpectSame("probabilities", probabilities, golden_["probabilities"].get<std::vector<double>>());
}

TEST_F(DlrmGolden, LossAndEveryGradientAreTheGoldenOnes) {
  Dlrm model(layout_, kernels::CpuCompute(kernels::Precision::kF32));
  tensor::AlignedBuffer gradients(test::FlatSize(layout_));
  std::vector<float> row_gradients(rows_.size());
  const Result<double> logloss_sum =
      test::Train(&model, parameters_.data(), batch_, rows_, batch_.row_count,
                  {gradients.data(), row_gradients, {}});
  ASSERT_TRUE(logloss_sum.ok());

  const double expected_sum = golden_["logloss_sum"];
  EXPECT_NEAR(*logloss_sum, expected_sum, kRelativeTolerance * expected_sum);
  for (const TensorSpec& spec : layout_.tensors()) {
    ExpectSame(spec.name,
               gradients.span().subspan(static_cast<size_t>(spec.offset),
                                        static_cast<size_t>(spec.element_count())),
               golden_["gradients"][spec.name].get<std::vector<double>>());
  }
  std::span<const float> rest = row_gradients;
  for (size_t t = 0; t < batch_.tables.size(); ++t) {
    const auto expected = golden_["row_gradients"][t].get<std::vector<double>>();
    ExpectSame(layout_.tables()[t].name, rest.first(expected.size()), expected);
    rest = rest.subspan(expected.size());
  }
  EXPECT_TRUE(rest.empty());
}

}  // namespace
}  // namespace weir::model
