// What a process tells its caller (architecture 5).
//
// Thread rule: pure function.
#pragma once

#include "common/base/status.h"

namespace weir {

// 0 done, 1 failed while running, 2 wrong flags or config, 3 came when the run was over and had
// ended well, 130 interrupted.
inline int ExitCode(const Status& status) {
  if (status.ok()) return 0;
  if (status.code() == StatusCode::kInvalidConfig) return 2;
  if (status.code() == StatusCode::kTooLate) return 3;
  if (status.code() == StatusCode::kInterrupted) return 130;
  return 1;
}

}  // namespace weir
