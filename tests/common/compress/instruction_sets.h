// Tests of vector kernels on every instruction set that this machine has.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "hwy/highway.h"

namespace weir::compress {

class OnEachInstructionSet : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { Use(GetParam()); }
  void TearDown() override { Use(0); }  // as the machine is

 private:
  static void Use(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

inline auto InstructionSets() { return testing::ValuesIn(hwy::SupportedAndGeneratedTargets()); }

inline std::string InstructionSetName(const testing::TestParamInfo<int64_t>& target) {
  return hwy::TargetName(target.param);
}

}  // namespace weir::compress
