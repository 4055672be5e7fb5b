#include "worker/model/kernels_for.h"

#include <gtest/gtest.h>

namespace weir::model {
namespace {

v1::ModelConfig ModelOf(v1::ModelConfig::Precision precision) {
  v1::ModelConfig model;
  model.set_precision(precision);
  return model;
}

TEST(KernelsFor, APrecisionIsTheConfigs) {
  EXPECT_EQ(PrecisionOf(ModelOf(v1::ModelConfig::F32)), kernels::Precision::kF32);
  EXPECT_EQ(PrecisionOf(ModelOf(v1::ModelConfig::BF16)), kernels::Precision::kBf16);
  EXPECT_EQ(PrecisionOf(ModelOf(v1::ModelConfig::TF32)), kernels::Precision::kTf32);
}

TEST(KernelsFor, TheCpuComputesTf32AsF32) {
  EXPECT_EQ(CpuComputeFor(ModelOf(v1::ModelConfig::TF32)).kernels,
            CpuComputeFor(ModelOf(v1::ModelConfig::F32)).kernels);
  EXPECT_EQ(&HostKernelsFor(ModelOf(v1::ModelConfig::TF32)),
            &HostKernelsFor(ModelOf(v1::ModelConfig::F32)));
}

}  // namespace
}  // namespace weir::model
