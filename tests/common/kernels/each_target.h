// Runs something once for each instruction set that was compiled in and that this processor has.
//
// Thread rule: one thread; other threads must not be in a kernel meanwhile.
#pragma once

#include <gtest/gtest.h>

#include "hwy/highway.h"

namespace weir::test {

template <typename Check>
void ForEachTarget(const Check& check) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace weir::test
